#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "llvm_service/Ir.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Statuses.h"
#include "tests/llvm_service/TemporaryDirectory.h"

// Functions that must be inlined: all levels of clang do so, -O0 included.

namespace compiler_gym::llvm_service {
namespace {

// One function is called eight times, and inlined because of itself or of the calls.
std::string program(const std::string& ofFunction, const std::string& ofCalls) {
  std::string text = R"(
target triple = "x86_64-pc-linux-gnu"
declare i32 @outside(i32)
define internal i32 @large(i32 %a) )" +
                     ofFunction + R"( {
  %1 = mul i32 %a, 12345
  %2 = call i32 @outside(i32 %1)
  %3 = xor i32 %2, %a
  %4 = call i32 @outside(i32 %3)
  %5 = mul i32 %4, %3
  %6 = call i32 @outside(i32 %5)
  ret i32 %6
}
define i32 @main(i32 %a) {
)";
  for (int i = 1; i <= 8; ++i) {
    const std::string argument = i == 1 ? "%a" : "%" + std::to_string(i - 1);
    text +=
        "  %" + std::to_string(i) + " = call i32 @large(i32 " + argument + ") " + ofCalls + "\n";
  }
  return text + "  ret i32 %8\n}\n";
}

int64_t numberOf(Compilation& compilation, const std::string& observation) {
  return observe(compilation, observation).int64_value();
}

// The size that clang makes of the bitcode of its own -O0, with code generated for size.
int64_t sizeFromClang(const std::string& bitcode) {
  const TemporaryDirectory directory;
  const std::string input = (directory.path() / "module.bc").string();
  const std::string lowered = (directory.path() / "lowered.bc").string();
  const std::string object = (directory.path() / "module.o").string();
  std::ofstream(input, std::ios::binary) << bitcode;
  runLlvmTool({"clang", "-O0", "-c", "-w", "-emit-llvm", input, "-o", lowered});
  OwnedModule owned;
  EXPECT_THAT(parseIr(readFile(lowered), owned), IsOk());
  markForSize(*owned.module);
  std::ofstream(input, std::ios::binary | std::ios::trunc) << writeBitcode(*owned.module);
  runLlvmTool({"clang", "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-w", input, "-o", object});
  return berkeleyTextSize(object);
}

class MandatoryInliningTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MandatoryInliningTest, SizesAreThoseOfClang) {
  const auto compilation = startCompilation(makeBenchmark(GetParam()));
  ASSERT_NE(compilation, nullptr);
  const int64_t expected = sizeFromClang(compilation->bitcode());
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeO0"), expected);
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeBytes"), expected);
  EXPECT_LE(numberOf(*compilation, "ObjectTextSizeOz"), expected);
  // The program itself is as it was: the player may inline, or not.
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCountO0"),
            numberOf(*compilation, "IrInstructionCount"));
}

TEST_P(MandatoryInliningTest, InliningItByAnActionChangesNothing) {
  const auto compilation = startCompilation(makeBenchmark(GetParam()));
  ASSERT_NE(compilation, nullptr);
  ASSERT_TRUE(applyPass(*compilation, "always-inline"));
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeBytes"),
            numberOf(*compilation, "ObjectTextSizeO0"));
}

TEST_P(MandatoryInliningTest, IsSeenInTheSize) {
  const auto without = startCompilation(makeBenchmark(program("", "")));
  const auto with = startCompilation(makeBenchmark(GetParam()));
  ASSERT_NE(without, nullptr);
  ASSERT_NE(with, nullptr);
  EXPECT_GT(numberOf(*with, "ObjectTextSizeO0"), numberOf(*without, "ObjectTextSizeO0"));
}

INSTANTIATE_TEST_SUITE_P(Program, MandatoryInliningTest,
                         ::testing::Values(program("alwaysinline", ""),
                                           program("", "alwaysinline")),
                         [](const auto& info) {
                           return info.index == 0 ? std::string("ByFunction") : "ByCalls";
                         });

TEST(ClangPipelineTest, ProgramsWithoutMandatoryWorkStayAsTheyAre) {
  for (const auto& [name, bitcode] : kernels()) {
    OwnedModule owned;
    ASSERT_THAT(parseIr(bitcode, owned), IsOk());
    const std::string before = writeBitcode(*owned.module);
    optimizeAsClangAtO0(*owned.module);
    EXPECT_EQ(writeBitcode(*owned.module), before) << name;
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
