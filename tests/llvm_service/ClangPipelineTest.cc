// Clang's own pipelines as actions, and the baselines of machine code: they are clang's.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/Ir.h"
#include "tests/Effort.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Statuses.h"
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
  // Runs clang on bitcode.
  std::string clang(const std::vector<std::string>& options, const std::string& bitcode) const {
    const std::string input = (directory_.path() / "input.bc").string();
    std::string output = (directory_.path() / "output").string();
    std::ofstream(input, std::ios::binary) << bitcode;
    std::vector<std::string> command = {"clang"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-c", "-w", input, "-o", output});
    runLlvmTool(command);
    return output;
  }

  const TemporaryDirectory directory_;
};

// From a fresh start by one action, byte for byte.
TEST_P(ClangPipelineTest, ReachesTheBaselineForSize) {
  const auto compilation = startCompilation(makeBenchmark(kernel(GetParam())));
  ASSERT_NE(compilation, nullptr);
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
  const auto compilation = startCompilation(makeBenchmark(kernel(GetParam())));
  ASSERT_NE(compilation, nullptr);
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
    const auto compilation = startCompilation(makeBenchmark(kernel(GetParam())));
    ASSERT_NE(compilation, nullptr);
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
    const auto compilation = startCompilation(makeBenchmark(kTwoFunctions));
    ASSERT_NE(compilation, nullptr);
    applyPass(*compilation, pipeline);
    EXPECT_EQ(compilation->module().getFunction("plain")->getInstructionCount(), 1U) << pipeline;
    EXPECT_EQ(compilation->module().getFunction("untouched")->getInstructionCount(), 4U)
        << pipeline;
  }
}

TEST(SizeMarksTest, MarkDefinitionsAsClangDoes) {
  using llvm::Attribute;
  for (const bool minimal : {false, true}) {
    const auto compilation = startCompilation(makeBenchmark(kTwoFunctions));
    ASSERT_NE(compilation, nullptr);
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

}  // namespace
}  // namespace compiler_gym::llvm_service
