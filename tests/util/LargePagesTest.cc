#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "compiler_gym/util/LargePages.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace compiler_gym::util {
namespace {

std::string firstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int64_t availableKilobytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    if (word == "MemAvailable:") {
      int64_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes;
    }
  }
  return 0;
}

// The bytes of LLVM's library that are mapped from its file and never written.
uint64_t mappedFromFile() {
  std::ifstream file("/proc/self/maps");
  uint64_t size = 0;
  for (std::string line; std::getline(file, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char writable = 0;
    const bool isRead = sscanf(line.c_str(), "%lx-%lx r%c", &begin, &end, &writable) == 3;
    if (isRead && writable == '-' && line.find("libLLVM") != std::string::npos) {
      size += end - begin;
    }
  }
  return size;
}

std::string printedModule() {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const auto module = llvm::parseAssemblyString(
      "define double @f(double %x) {\n  %y = fadd double %x, 1.5\n  ret double %y\n}\n", diagnostic,
      context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module != nullptr) {
    module->print(stream, /*AAW=*/nullptr);
  }
  stream.flush();
  return text;
}

TEST(LargePagesTest, CodeAndConstantsMoveAndStayTheSame) {
  if (firstLine("/sys/kernel/mm/transparent_hugepage/enabled").find("[never]") !=
          std::string::npos ||
      availableKilobytes() < 4 << 20) {
    GTEST_SKIP() << "This machine has no large pages, or not enough memory";
  }
  const std::string printed = printedModule();
  ASSERT_NE(printed.find("fadd double %x, 1.5"), std::string::npos);
  const uint64_t before = mappedFromFile();
  ASSERT_GT(before, uint64_t{32} << 20);
  ASSERT_TRUE(moveToLargePages());
  // What is left are the ends of segments.
  EXPECT_LT(mappedFromFile(), uint64_t{16} << 20);
  EXPECT_EQ(printedModule(), printed);
  // A second move copies the pages of the first.
  ASSERT_TRUE(moveToLargePages());
  EXPECT_EQ(printedModule(), printed);
}

}  // namespace
}  // namespace compiler_gym::util
