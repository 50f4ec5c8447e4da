#include <gtest/gtest.h>

#include "llvm_service/Ir.h"
#include "llvm_service/costs/Cycles.h"
#include "tests/Statuses.h"

namespace compiler_gym::llvm_service {
namespace {

// On x86-64 an addition of two 32-bit integers has the cost 1, so that the differences between
// programs with more of them and less are known.
std::string additions(int count) {
  std::string text = "  %x0 = add i32 %a, %a\n";
  for (int i = 1; i < count; ++i) {
    text += "  %x" + std::to_string(i) + " = add i32 %x" + std::to_string(i - 1) + ", %a\n";
  }
  return count == 0 ? "" : text;
}

int64_t estimate(const std::string& text) {
  OwnedModule owned;
  EXPECT_THAT(parseIr("target triple = \"x86_64-pc-linux-gnu\"\n" + text, owned), IsOk());
  return owned.module ? cyclesEstimate(*owned.module) : -1;
}

std::string straight(int count, const std::string& name = "main") {
  return "define i32 @" + name + "(i32 %a) {\n" + additions(count) + "  ret i32 %a\n}\n";
}

TEST(CyclesTest, StraightCode) {
  EXPECT_EQ(estimate(straight(5)) - estimate(straight(0)), 5);
  EXPECT_EQ(estimate(straight(100)) - estimate(straight(0)), 100);
}

TEST(CyclesTest, NothingToRun) { EXPECT_EQ(estimate("@v = global i32 0\n"), 0); }

// LLVM takes a loop to be left in 1 of 32 rounds.
TEST(CyclesTest, LoopIsTakenToMake32Rounds) {
  const auto loop = [](int count) {
    return "define i32 @main(i32 %a) {\nentry:\n  br label %loop\nloop:\n" + additions(count) +
           "  %c = icmp eq i32 %a, 7\n  br i1 %c, label %exit, label %loop\nexit:\n"
           "  ret i32 %a\n}\n";
  };
  EXPECT_EQ(estimate(loop(3)) - estimate(loop(0)), 96);
}

TEST(CyclesTest, BranchWithoutPreferenceIsTakenHalfOfTheTime) {
  const auto branch = [](int count) {
    return "define i32 @main(i32 %a, i1 %c) {\nentry:\n  br i1 %c, label %then, label %exit\n"
           "then:\n" +
           additions(count) + "  br label %exit\nexit:\n  ret i32 %a\n}\n";
  };
  EXPECT_EQ(estimate(branch(20)) - estimate(branch(0)), 10);
}

std::string callers(int calls, int additionsOfCallee) {
  std::string text = straight(additionsOfCallee, "callee") + "define i32 @main(i32 %a) {\n";
  for (int i = 0; i < calls; ++i) {
    text += "  call i32 @callee(i32 %a)\n";
  }
  return text + "  ret i32 %a\n}\n";
}

TEST(CyclesTest, CallAddsTheCyclesOfTheCallee) {
  EXPECT_EQ(estimate(callers(3, 50)) - estimate(callers(3, 0)), 150);
  // What main does not call is not run.
  EXPECT_EQ(estimate(callers(0, 50)) - estimate(callers(0, 0)), 0);
}

TEST(CyclesTest, RecursionIsTakenToOneLevel) {
  const auto recursive = [](int count) {
    return "define i32 @main(i32 %a) {\n" + additions(count) +
           "  %r = call i32 @main(i32 %a)\n  ret i32 %r\n}\n";
  };
  EXPECT_EQ(estimate(recursive(10)) - estimate(recursive(0)), 20);
}

TEST(CyclesTest, WithoutMainAllThatIsVisibleIsRun) {
  const auto library = [](int first, int second) {
    return straight(first, "first") + straight(second, "second");
  };
  EXPECT_EQ(estimate(library(3, 4)) - estimate(library(0, 0)), 7);
}

TEST(CyclesTest, FunctionsWhoseAddressIsTakenAreRun) {
  const auto program = [](int count) {
    return "@pointer = global ptr @callback\n" + straight(count, "callback") + straight(0);
  };
  EXPECT_EQ(estimate(program(9)) - estimate(program(0)), 9);
}

TEST(CyclesTest, UnknownTarget) {
  OwnedModule owned;
  ASSERT_THAT(parseIr("target triple = \"nosuch\"\n" + straight(5), owned), IsOk());
  EXPECT_GT(cyclesEstimate(*owned.module), 0);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
