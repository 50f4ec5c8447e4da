#include "compiler_gym/util/LargePages.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace compiler_gym::util {
namespace {

// Of x86-64, and of AArch64 with small pages of 4 KiB. With others, there are larger ones, and code
// is too small for them.
constexpr uintptr_t kPageSize = 2 << 20;
constexpr uintptr_t kLeastShare = 8;

// Has the beginning of a file, such as those in which the kernel describes itself.
class Text {
 public:
  explicit Text(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? 0 : read(file, text_, sizeof(text_) - 1);
    text_[size < 0 ? 0 : size] = '\0';
    if (file >= 0) {
      close(file);
    }
  }

  bool has(const char* word) const { return strstr(text_, word) != nullptr; }

  // Returns the number after a word; without such a number, the largest.
  uintptr_t numberAfter(const char* word) const {
    const char* const found = strstr(text_, word);
    const char* const digits = found == nullptr ? text_ : found + strlen(word);
    char* end = nullptr;
    const uintptr_t number = strtoull(digits, &end, 10);
    return found == nullptr || end == digits ? UINTPTR_MAX : number;
  }

 private:
  char text_[4096];
};

// The part of a segment that consists of whole large pages.
struct Range {
  uintptr_t begin;
  uintptr_t end;
  int protection;

  size_t size() const { return begin < end ? end - begin : 0; }
};

uintptr_t roundUp(uintptr_t address) { return (address + kPageSize - 1) / kPageSize * kPageSize; }

Range rangeOf(const dl_phdr_info& object, const ElfW(Phdr) & segment) {
  const uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
  const uintptr_t end = (begin + segment.p_filesz) / kPageSize * kPageSize;
  const bool isMovable = segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0;
  const int execute = (segment.p_flags & PF_X) != 0 ? PROT_EXEC : PROT_NONE;
  return {roundUp(begin), isMovable ? end : 0, PROT_READ | execute};
}

template <typename Function>
void forEachRange(Function function) {
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const Range range = rangeOf(*object, object->dlpi_phdr[i]);
          if (range.size() > 0) {
            (*static_cast<Function*>(data))(range);
          }
        }
        return 0;
      },
      &function);
}

bool isWorthwhile() {
  uintptr_t size = 0;
  forEachRange([&size](const Range& range) { size += range.size(); });
  const uintptr_t kilobytes = Text("/proc/meminfo").numberAfter("MemAvailable:");
  const uintptr_t limit = Text("/sys/fs/cgroup/memory.max").numberAfter("");
  const char* const pageSize = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
  return !Text("/sys/kernel/mm/transparent_hugepage/enabled").has("[never]") &&
         Text(pageSize).numberAfter("") == kPageSize && size / 1024 <= kilobytes / kLeastShare &&
         size <= limit / kLeastShare;
}

void move(const Range& range) {
  const size_t size = range.size();
  const size_t reserved = size + kPageSize;
  void* const space =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) {
    return;
  }
  void* const pages = reinterpret_cast<void*>(roundUp(reinterpret_cast<uintptr_t>(space)));
  void* const old = reinterpret_cast<void*>(range.begin);
  madvise(pages, size, MADV_HUGEPAGE);
  memcpy(pages, old, size);
  // AArch64 may still have other instructions of these pages in its cache.
  __builtin___clear_cache(static_cast<char*>(pages), static_cast<char*>(pages) + size);
  // Replaces the old pages in one step. Kernels may forbid code in such memory.
  if (mprotect(pages, size, range.protection) == 0) {
    mremap(pages, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, old);
  }
  munmap(space, reserved);
}

}  // namespace

bool moveToLargePages() {
  if (!isWorthwhile()) {
    return false;
  }
  forEachRange(move);
  return true;
}

}  // namespace compiler_gym::util
