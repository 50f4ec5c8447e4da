// The game of docs/contributing/recipes.md, compiled from the text itself.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/SessionPlayer.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {

// The declaration in a line of Games.def.
const GameRules& sizeOrSpeedGame();

namespace {

// The loop becomes vector code, unless it is optimised for size.
constexpr char kSum[] = R"(
define i32 @sum(ptr %numbers, i64 %size) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %larger, %loop ]
  %place = getelementptr i32, ptr %numbers, i64 %i
  %number = load i32, ptr %place
  %larger = add i32 %sum, %number
  %next = add i64 %i, 1
  %isLast = icmp eq i64 %next, %size
  br i1 %isLast, label %end, label %loop
end:
  ret i32 %larger
}
define i32 @main() {
  ret i32 0
}
)";

class GameRecipeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(session_.init(session_.getActionSpaces().front(), makeBenchmark(kSum)), IsOk());
  }

  // Gives one answer about all functions, and returns the size of the program.
  int64_t sizeWith(int64_t answer) {
    EXPECT_EQ(functionsLeft(), 2);
    for (const int64_t left : {1, 0}) {
      EXPECT_EQ(step(session_, answer).isLast, left == 0);
      EXPECT_EQ(functionsLeft(), left);
    }
    return instructions();
  }

  int64_t instructions() { return observe(session_, "IrInstructionCount").int64_value(); }

  int64_t functionsLeft() { return observe(session_, "FunctionsLeft").int64_value(); }

  const TemporaryDirectory directory_;
  LlvmSession session_{directory_.path(), sizeOrSpeedGame()};
};

TEST_F(GameRecipeTest, DecidesAboutEachFunction) {
  const int64_t before = instructions();
  EXPECT_LT(sizeWith(0), before);
}

TEST_F(GameRecipeTest, LeavesFunctionsAsTheyAre) {
  const int64_t before = instructions();
  EXPECT_EQ(sizeWith(2), before);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
