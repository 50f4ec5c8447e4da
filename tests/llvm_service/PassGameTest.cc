#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm_service/games/Games.h"
#include "llvm_service/games/PassGame.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAreArray;

constexpr char kProgram[] = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 0\n  ret i32 %b\n}\n";

// The passes before the error have changed the module. The runtime ends the use of such a session.
TEST(PassGameTest, ErrorsOfLlvmInABaselineAreInternal) {
  PassGame game(passGame().actions.front(), startCompilation(kProgram));
  game.visitCompilations(
      [](Compilation& each) { each.module().getContext().emitError("planted"); });
  std::optional<std::string> reply;
  EXPECT_THAT(
      game.handleParameter("llvm.apply_baseline_optimizations", "-Oz", LlvmSettings(), reply),
      IsError(StatusCode::INTERNAL, "planted"));
  EXPECT_FALSE(reply);
}

TEST(PassGameTest, TheHistoryHasActionsAsTheyWereApplied) {
  PassGame game(passGame().actions.front(), startCompilation(kProgram));
  std::vector<std::string> expected;
  const auto apply = [&](size_t index, bool forgetsAnalyses) {
    LlvmSettings settings;
    settings.forgetsAnalyses = forgetsAnalyses;
    Outcome outcome;
    ASSERT_THAT(game.apply(index, /*actionsLeft=*/1, settings, outcome), IsOk());
    const std::string& pipeline = passGame().actions.front().actions[index].pipeline;
    expected.push_back(pipeline + (forgetsAnalyses ? ",invalidate<all>" : ""));
  };
  for (const size_t index : {0, 1, 0}) {
    apply(index, /*forgetsAnalyses=*/true);
    apply(index, /*forgetsAnalyses=*/false);
  }
  std::vector<std::string> applied;
  game.visitCompilations([&](Compilation& each) {
    for (const Action* action : each.history()) applied.push_back(action->pipeline);
  });
  EXPECT_THAT(applied, ElementsAreArray(expected));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
