#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/session/HeapReserve.h"

namespace compiler_gym::runtime {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kBlockBytes = size_t{64} << 10;

// The bytes of the heap for which the kernel was asked for huge pages.
size_t hugeHeapBytes() {
  std::ifstream file("/proc/self/smaps");
  size_t total = 0;
  bool isHeap = false;
  size_t kibibytes = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find('-') < line.find(' ')) isHeap = line.find("[heap]") != std::string::npos;
    if (line.rfind("Size:", 0) == 0) kibibytes = std::stoul(line.substr(5));
    if (line.rfind("VmFlags:", 0) == 0 && isHeap && line.find(" hg") != std::string::npos) {
      total += kibibytes << 10;
    }
  }
  return total;
}

size_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<size_t>(getpagesize());
}

// Uses memory in blocks, as a pass does.
std::vector<std::unique_ptr<char[]>> allocate(size_t bytes) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t i = 0; i < bytes; i += kBlockBytes) {
    blocks.push_back(std::make_unique<char[]>(kBlockBytes));
  }
  return blocks;
}

class HeapReserveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (heapBytes() == 0) GTEST_SKIP() << "Not the allocator of the GNU C library";
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
      GTEST_SKIP() << "The kernel has no transparent huge pages";
    }
  }
};

TEST_F(HeapReserveTest, SmallProgramsHaveNone) {
  const void* const before = sbrk(0);
  reserveHeap(100 << 10);
  EXPECT_EQ(sbrk(0), before);
  EXPECT_EQ(hugeHeapBytes(), 0);
}

TEST_F(HeapReserveTest, HeapBytesCountBlocks) {
  const size_t before = heapBytes();
  const auto blocks = allocate(kMebibyte);
  EXPECT_GE(heapBytes(), before + kMebibyte);
}

TEST_F(HeapReserveTest, IsUsedBeforeTheHeapGrows) {
  const size_t resident = residentBytes();
  reserveHeap(4 * kMebibyte);
  EXPECT_GE(hugeHeapBytes(), 10 * kMebibyte);
  EXPECT_LT(residentBytes(), resident + kMebibyte);

  const void* const end = sbrk(0);
  for (int i = 0; i < 3; ++i) {
    const auto blocks = allocate(10 * kMebibyte);
    EXPECT_EQ(sbrk(0), end);
  }
  // It stays after blocks were freed.
  EXPECT_EQ(sbrk(0), end);
}

}  // namespace
}  // namespace compiler_gym::runtime
