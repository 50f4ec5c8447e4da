// Clang's own pipelines as actions, and the baselines of machine code: they are clang's.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/Ir.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

int64_t numberOf(Compilation& compilation, const std::string& observation) {
  return observe(compilation, observation).int64_value();
}

// Without what clang adds to the module itself, as programs are taken in.
std::string textOf(const std::string& bitcode) {
  OwnedModule owned;
  EXPECT_THAT(parseIr(bitcode, owned), IsOk());
  while (!owned.module->named_metadata_empty()) {
    owned.module->eraseNamedMetadata(&*owned.module->named_metadata_begin());
  }
  owned.module->setModuleIdentifier("-");
  owned.module->setSourceFileName("-");
  std::string text;
  llvm::raw_string_ostream stream(text);
  owned.module->print(stream, nullptr);
  return text;
}

class ClangPipelineTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Runs clang on bitcode, for the machine that the bitcode is for.
  std::string clang(const std::vector<std::string>& options, const std::string& bitcode) const {
    const std::string input = (directory_.path() / "input.bc").string();
    std::string output = (directory_.path() / "output").string();
    std::ofstream(input, std::ios::binary) << bitcode;
    OwnedModule owned;
    EXPECT_THAT(parseIr(bitcode, owned), IsOk());
    std::vector<std::string> command = {"clang",
                                        "--target=" + owned.module->getTargetTriple().str()};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-c", "-w", input, "-o", output});
    runLlvmTool(command);
    return output;
  }

  const TemporaryDirectory directory_;
};

// From a fresh start by one action, byte for byte.
TEST_P(ClangPipelineTest, ReachesTheBaselineForSize) {
  const auto compilation = startCompilation(kernel(GetParam()));
  const int64_t baseline = numberOf(*compilation, "ObjectTextSizeOz");
  EXPECT_LE(baseline, numberOf(*compilation, "ObjectTextSizeO0"));
  applyPass(*compilation, "clang<Oz>");
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeBytes"), baseline);
  EXPECT_EQ(
      berkeleyTextSize(clang({"-Oz", "-Xclang", "-disable-llvm-passes"}, compilation->bitcode())),
      baseline);
  EXPECT_FALSE(applyPass(*compilation, "mark-for-size<Oz>"));
}

TEST_P(ClangPipelineTest, TheBaselinesAreTheSizesOfClang) {
  const auto compilation = startCompilation(kernel(GetParam()));
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeO3"),
            berkeleyTextSize(clang({"-O3"}, compilation->bitcode())));
  applyPass(*compilation, "mark-for-size<Oz>");
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeOz"),
            berkeleyTextSize(clang({"-Oz"}, compilation->bitcode())));
}

INSTANTIATE_TEST_SUITE_P(Kernel, ClangPipelineTest, ::testing::ValuesIn(sample(kernelNames(), 3)),
                         [](const auto& info) { return info.param; });

class ClangLevelsTest : public ClangPipelineTest {};

TEST_P(ClangLevelsTest, EqualClang) {
  for (const std::string level : {"O1", "O2", "O3", "Os", "Oz"}) {
    const auto compilation = startCompilation(kernel(GetParam()));
    if (level == "Os" || level == "Oz") {  // Clang marks functions when it reads the source.
      EXPECT_TRUE(applyPass(*compilation, "mark-for-size<" + level + ">"));
    }
    const std::string expected =
        readFile(clang({"-" + level, "-emit-llvm"}, compilation->bitcode()));
    applyPass(*compilation, "clang<" + level + ">");
    EXPECT_TRUE(textOf(compilation->bitcode()) == textOf(expected)) << level;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernel, ClangLevelsTest,
    ::testing::ValuesIn(sample<std::string>({"sha256", "json", "matrix", "nbody"}, 2)),
    [](const auto& info) { return info.param; });

constexpr char kTwoFunctions[] = R"(
target triple = "x86_64-pc-linux-gnu"
define i32 @plain(i32 %x) {
  %p = alloca i32
  store i32 %x, ptr %p
  %y = load i32, ptr %p
  ret i32 %y
}
define i32 @untouched(i32 %x) noinline optnone {
  %p = alloca i32
  store i32 %x, ptr %p
  %y = load i32, ptr %p
  ret i32 %y
}
)";

// As `__attribute__((optnone))` says.
TEST(ClangPipelineOptNoneTest, LeavesFunctionsThatAreNotToBeOptimised) {
  for (const char* pipeline : {"clang<O3>", "clang<Oz>"}) {
    const auto compilation = startCompilation(kTwoFunctions);
    applyPass(*compilation, pipeline);
    EXPECT_EQ(compilation->module().getFunction("plain")->getInstructionCount(), 1U) << pipeline;
    EXPECT_EQ(compilation->module().getFunction("untouched")->getInstructionCount(), 4U)
        << pipeline;
  }
}

TEST(SizeMarksTest, MarkDefinitionsAsClangDoes) {
  using llvm::Attribute;
  for (const bool minimal : {false, true}) {
    const auto compilation = startCompilation(kTwoFunctions);
    EXPECT_TRUE(applyPass(*compilation, minimal ? "mark-for-size<Oz>" : "mark-for-size<Os>"));
    const llvm::Function& plain = *compilation->module().getFunction("plain");
    EXPECT_TRUE(plain.hasFnAttribute(Attribute::OptimizeForSize));
    EXPECT_EQ(plain.hasFnAttribute(Attribute::MinSize), minimal);
    const llvm::Function& untouched = *compilation->module().getFunction("untouched");
    EXPECT_FALSE(untouched.hasFnAttribute(Attribute::OptimizeForSize));
    EXPECT_FALSE(untouched.hasFnAttribute(Attribute::MinSize));
    EXPECT_THAT(compilation->verify(), IsOk());
  }
}

// Functions that must be inlined: all levels of clang do so, -O0 included.

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

class MandatoryInliningTest : public ClangPipelineTest {
 protected:
  // The size that clang makes of the bitcode of its own -O0, with code generated for size.
  int64_t sizeFromClang(const std::string& bitcode) const {
    OwnedModule owned;
    EXPECT_THAT(parseIr(readFile(clang({"-O0", "-emit-llvm"}, bitcode)), owned), IsOk());
    markForSize(*owned.module);
    return berkeleyTextSize(
        clang({"-Oz", "-Xclang", "-disable-llvm-passes"}, writeBitcode(*owned.module)));
  }
};

TEST_P(MandatoryInliningTest, SizesAreThoseOfClang) {
  const auto compilation = startCompilation(GetParam());
  const int64_t expected = sizeFromClang(compilation->bitcode());
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeO0"), expected);
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeBytes"), expected);
  EXPECT_LE(numberOf(*compilation, "ObjectTextSizeOz"), expected);
  EXPECT_GT(expected, numberOf(*startCompilation(program("", "")), "ObjectTextSizeO0"));
  // The program itself is as it was: the player may inline, or not.
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCountO0"),
            numberOf(*compilation, "IrInstructionCount"));
  // Inlining it by an action changes nothing.
  ASSERT_TRUE(applyPass(*compilation, "always-inline"));
  EXPECT_EQ(numberOf(*compilation, "ObjectTextSizeBytes"), expected);
}

INSTANTIATE_TEST_SUITE_P(Program, MandatoryInliningTest,
                         ::testing::Values(program("alwaysinline", ""),
                                           program("", "alwaysinline")),
                         [](const auto& info) {
                           return info.index == 0 ? std::string("ByFunction") : "ByCalls";
                         });

TEST(ClangAtO0Test, ProgramsWithoutMandatoryWorkStayAsTheyAre) {
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
