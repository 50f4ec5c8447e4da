// Tests of Remarks and PassStats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/Statuses.h"
#include "tests/llvm_service/RandomWalk.h"
#include "tests/llvm_service/Tables.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kModule[] = R"(
define internal i32 @callee(i32 %a) {
  %doubled = shl i32 %a, 1
  ret i32 %doubled
}
define i32 @caller(i32 %a) {
  %result = call i32 @callee(i32 %a)
  ret i32 %result
}
define i32 @other(i32 %a) {
  ret i32 %a
}
)";

std::unique_ptr<Compilation> start() { return startCompilation(kModule); }

const Event& field(const Event& event, const char* name) {
  return event.event_dict().event().at(name);
}

void expectNoChange(Compilation& compilation, int64_t instructions) {
  const Event stats = observe(compilation, "PassStats");
  EXPECT_FALSE(field(stats, "changed").boolean_value());
  EXPECT_THAT(texts(stats, "functions_changed"), IsEmpty());
  EXPECT_THAT(texts(stats, "functions_removed"), IsEmpty());
  EXPECT_EQ(field(stats, "instructions_before").int64_value(), instructions);
  EXPECT_EQ(field(stats, "instructions_after").int64_value(), instructions);
  EXPECT_THAT(texts(observe(compilation, "Remarks"), "kind"), IsEmpty());
}

TEST(LastActionTest, StatsAndRemarksAreThoseOfTheLastActionOnly) {
  const auto compilation = start();
  expectNoChange(*compilation, 5);
  ASSERT_TRUE(applyPass(*compilation, "cgscc(inline)"));
  const Event stats = observe(*compilation, "PassStats");
  EXPECT_TRUE(field(stats, "changed").boolean_value());
  EXPECT_THAT(texts(stats, "functions_changed"), ElementsAre("caller"));
  EXPECT_THAT(texts(stats, "functions_added"), IsEmpty());
  EXPECT_THAT(texts(stats, "functions_removed"), ElementsAre("callee"));
  EXPECT_EQ(field(stats, "instructions_before").int64_value(), 5);
  EXPECT_EQ(field(stats, "instructions_after").int64_value(), 3);
  const Event remarks = observe(*compilation, "Remarks");
  EXPECT_THAT(texts(remarks, "kind"), ElementsAre("passed"));
  EXPECT_THAT(texts(remarks, "pass"), ElementsAre("inline"));
  EXPECT_THAT(texts(remarks, "name"), ElementsAre("Inlined"));
  EXPECT_THAT(texts(remarks, "function"), ElementsAre("caller"));
  EXPECT_THAT(texts(remarks, "message"), ElementsAre(StartsWith("'callee' inlined into 'caller'")));
  // Some of the old actions have no pipeline.
  for (const char* pipeline : {"cgscc(inline)", ""}) {
    ASSERT_FALSE(applyPass(*compilation, pipeline));
    expectNoChange(*compilation, 3);
  }
  EXPECT_EQ(compilation->history().size(), 3u);
}

TEST(RemarksTest, OfMissedTransformations) {
  const auto compilation = startCompilation(kernel("matrix"));
  applyPass(*compilation, "default<O2>");
  applyPass(*compilation, "function(loop-vectorize)");
  EXPECT_THAT(texts(observe(*compilation, "Remarks"), "kind"), Contains("missed"));
}

// Reporting must not change what passes do: neither in the program nor in the copy.
TEST(RemarksWalkTest, CopyThatReportsIsTheSameProgram) {
  int reports = 0;
  std::unique_ptr<RemarkReplay> replay;
  randomWalk(8, [&](Compilation& compilation, bool, const std::string& step) {
    if (compilation.history().size() == 1) {
      replay = std::make_unique<RemarkReplay>();
    }
    const std::vector<Remark>* remarks = nullptr;
    ASSERT_THAT(
        replay->remarksOfLast(compilation.program().bitcode(), compilation.history(), &remarks),
        IsOk())
        << step;
    reports += !remarks->empty();
    EXPECT_TRUE(writeBitcode(replay->module()) == writeBitcode(compilation.module())) << step;
  });
  EXPECT_GT(reports, 5);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
