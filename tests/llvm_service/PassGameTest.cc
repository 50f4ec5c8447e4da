#include <gtest/gtest.h>

#include "llvm_service/games/Games.h"
#include "llvm_service/games/PassGame.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;

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

}  // namespace
}  // namespace compiler_gym::llvm_service
