#include <gtest/gtest.h>

#include "llvm_service/Games.h"
#include "llvm_service/PassGame.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Statuses.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr char kProgram[] = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 0\n  ret i32 %b\n}\n";

class PassGameTest : public ::testing::Test {
 protected:
  Status applyBaseline(std::optional<std::string>& reply) {
    return game_.handleParameter("llvm.apply_baseline_optimizations", "-Oz", SessionSettings(),
                                 reply);
  }

  PassGame game_{passGame().actions.front(), startCompilation(makeBenchmark(kProgram))};
};

TEST_F(PassGameTest, BaselineWithoutErrors) {
  std::optional<std::string> reply;
  EXPECT_THAT(applyBaseline(reply), IsOk());
  EXPECT_EQ(reply, "1");
}

// The passes before the error have changed the module. The runtime ends the use of such a session.
TEST_F(PassGameTest, ErrorsOfLlvmInABaselineAreInternal) {
  game_.visitCompilations(
      [](Compilation& each) { each.module().getContext().emitError("planted"); });
  std::optional<std::string> reply;
  EXPECT_THAT(applyBaseline(reply), IsError(StatusCode::INTERNAL, "planted"));
  EXPECT_FALSE(reply);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
