// The passes of this project: hand-written modules, and opt with their plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMerge[] = "function(merge-identical-blocks)";

size_t countBlocks(const Compilation& compilation) {
  size_t blocks = 0;
  for (const llvm::Function& function : compilation.module()) {
    blocks += function.size();
  }
  return blocks;
}

std::string irOf(Compilation& compilation) { return observe(compilation, "Ir").string_value(); }

// The module after the pass, which has to be valid.
std::unique_ptr<Compilation> merged(const std::string& ir, bool expectChange) {
  auto compilation = startCompilation(ir);
  EXPECT_EQ(applyPass(*compilation, kMerge), expectChange);
  EXPECT_THAT(compilation->verify(), IsOk());
  return compilation;
}

TEST(MergeIdenticalBlocksTest, MergesReturnsOfTheSameValue) {
  const auto compilation = merged(R"(
declare void @f(i32)
define i32 @main(i32 %x) {
  switch i32 %x, label %other [ i32 1, label %one
                                i32 2, label %two ]
one:
  %a = mul nsw i32 %x, 3
  call void @f(i32 %a)
  ret i32 %a
two:
  %b = mul i32 %x, 3
  call void @f(i32 %b)
  ret i32 %b
other:
  ret i32 0
})",
                                  true);
  EXPECT_EQ(countBlocks(*compilation), 3U);
  // Only one of them promised that nothing overflows.
  EXPECT_THAT(irOf(*compilation), HasSubstr("mul i32"));
  EXPECT_THAT(irOf(*compilation), Not(HasSubstr("nsw")));
}

TEST(MergeIdenticalBlocksTest, MergesChainsFromTheirEnds) {
  const auto compilation = merged(R"(
declare void @f()
declare void @g()
define void @main(i1 %x) {
  br i1 %x, label %a1, label %b1
a1:
  call void @f()
  br label %a2
b1:
  call void @f()
  br label %b2
a2:
  call void @g()
  ret void
b2:
  call void @g()
  ret void
})",
                                  true);
  EXPECT_EQ(countBlocks(*compilation), 3U);
}

TEST(MergeIdenticalBlocksTest, PhisDecide) {
  const std::string text = R"(
declare void @f()
define i32 @main(i1 %x) {
  br i1 %x, label %a, label %b
a:
  call void @f()
  br label %end
b:
  call void @f()
  br label %end
end:
  %phi = phi i32 [ 1, %a ], [ VALUE, %b ]
  ret i32 %phi
})";
  std::string same = text;
  same.replace(same.find("VALUE"), 5, "1");
  EXPECT_EQ(countBlocks(*merged(same, true)), 3U);
  std::string different = text;
  different.replace(different.find("VALUE"), 5, "2");
  EXPECT_EQ(countBlocks(*merged(different, false)), 4U);
}

TEST(MergeIdenticalBlocksTest, KeepsBlocksThatDiffer) {
  // Another operand, another order, a value used elsewhere, a convergent call, an address.
  merged(R"(
declare void @f(i32)
declare void @sync() convergent
define i32 @main(i32 %x, ptr %p) {
  switch i32 %x, label %c [ i32 1, label %a
                            i32 2, label %b
                            i32 3, label %s1
                            i32 4, label %s2 ]
a:
  call void @f(i32 1)
  ret i32 0
b:
  call void @f(i32 2)
  ret i32 0
c:
  %l = load i32, ptr %p, align 4
  br label %d
d:
  ret i32 %l
s1:
  call void @sync() convergent
  ret i32 5
s2:
  call void @sync() convergent
  ret i32 5
})",
         false);
}

TEST(MergeIdenticalBlocksTest, KeepsLoopsApart) {
  merged(R"(
declare i1 @f()
define void @main(i1 %x) {
  br i1 %x, label %a, label %b
a:
  %c = call i1 @f()
  br i1 %c, label %a, label %end
b:
  %d = call i1 @f()
  br i1 %d, label %b, label %end
end:
  ret void
})",
         false);
}

TEST(InlineThresholdTest, HigherThresholdsInlineMore) {
  int64_t previous = -1;
  for (const char* pipeline : {"inline-threshold<0>", "inline-threshold<1000>"}) {
    const auto compilation = startCompilation(kernel("json"));
    applyPass(*compilation, pipeline);
    const int64_t count = observe(*compilation, "IrInstructionCount").int64_value();
    EXPECT_GT(count, previous) << pipeline;
    previous = count;
  }
}

TEST(OwnPassTest, TextsThatMakeNoSenseAreErrors) {
  const auto compilation = startCompilation(kernel("sha256"));
  for (const char* pipeline :
       {"inline-threshold", "inline-threshold<>", "inline-threshold<-1>", "inline-threshold<x>",
        "module-simplification-stage<O4>", "clang<O0>", "mark-for-size<O2>",
        "function(merge-identical-blocks(sroa))"}) {
    bool changed = false;
    EXPECT_THAT(compilation->apply(actionOf(pipeline), changed),
                IsError(grpc::StatusCode::INVALID_ARGUMENT, "cannot parse"))
        << pipeline;
  }
}

class OwnPassesTest : public ::testing::TestWithParam<std::string> {
 protected:
  const TemporaryDirectory directory_;
};

// Each on its own, on the program as it is and when it has become simpler.
TEST_P(OwnPassesTest, EqualOptWithTheirPlugin) {
  const std::string before = (directory_.path() / "before.bc").string();
  for (const OwnPass& pass : listOwnPasses()) {
    for (const std::string& pipeline : pass.pipelines()) {
      const auto compilation = startCompilation(kernel(GetParam()));
      std::ofstream(before, std::ios::binary) << compilation->bitcode();
      applyPass(*compilation, "function(sroa)");
      applyPass(*compilation, pipeline);
      EXPECT_THAT(compilation->verify(), IsOk()) << pipeline;
      const std::string expected =
          runLlvmTool({"opt", "-discard-value-names", "-load-pass-plugin=" + ownPassesPlugin(),
                       "-passes=module(function(sroa)," + pipeline + ")", before, "-o", "-"});
      EXPECT_TRUE(compilation->bitcode() == expected) << pipeline;
    }
  }
}

// What the pipeline begins and ends with besides has no effect without profiles and annotations.
TEST_P(OwnPassesTest, TheStagesMakeThePipeline) {
  for (const std::string level : {"O1", "O2", "O3", "Os", "Oz"}) {
    const auto staged = startCompilation(kernel(GetParam()));
    applyPass(*staged, "module-simplification-stage<" + level + ">");
    applyPass(*staged, "module-optimization-stage<" + level + ">");
    const auto whole = startCompilation(kernel(GetParam()));
    applyPass(*whole, defaultPipeline(level));
    EXPECT_TRUE(staged->bitcode() == whole->bitcode()) << level;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernel, OwnPassesTest, ::testing::ValuesIn(sample(kernelNames(), 1)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace compiler_gym::llvm_service
