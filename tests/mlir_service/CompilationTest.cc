#include <gtest/gtest.h>
#include <sys/resource.h>

#include <set>

#include "mlir_service/Compilation.h"
#include "mlir_service/actions/Actions.h"
#include "mlir_service/observations/LoopNest.h"
#include "tests/Statuses.h"
#include "tests/mlir_service/Programs.h"
#include "tests/util/RefusedForks.h"

namespace compiler_gym::mlir_service {
namespace {

using grpc::StatusCode;

class CompilationTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(Compilation::start(kTwice, compilation_), IsOk()); }

  /// Applies an action of that name. Returns whether something has changed.
  bool apply(const std::string& name) {
    for (const Action& action : allActions()) {
      if (action.name != name) continue;
      bool changed = false;
      EXPECT_THAT(compilation_->apply(action.pipeline, changed), IsOk());
      return changed;
    }
    ADD_FAILURE() << "There is no action " << name;
    return false;
  }

  std::unique_ptr<Compilation> compilation_;
};

TEST_F(CompilationTest, ActionsHaveNames) {
  std::set<std::string> names;
  for (const Action& action : allActions()) {
    EXPECT_TRUE(names.insert(action.name).second) << action.name;
    EXPECT_FALSE(action.pipeline.empty()) << action.name;
    EXPECT_FALSE(action.description.empty()) << action.name;
  }
  EXPECT_GT(names.size(), 100);
}

TEST_F(CompilationTest, AllActionsKeepTheResults) {
  for (const Action& action : allActions()) {
    bool changed = false;
    ASSERT_TRUE(compilation_->apply(action.pipeline, changed).ok()) << action.name;
    if (!changed) continue;
    std::vector<double> seconds;
    EXPECT_THAT(compilation_->measure(RunCounts(), std::chrono::seconds(60), seconds), IsOk())
        << action.name;
    ASSERT_THAT(Compilation::start(kTwice, compilation_), IsOk());
  }
}

TEST_F(CompilationTest, InapplicableActionsHaveNoEffect) {
  EXPECT_FALSE(apply("tile<2,8>"));
  EXPECT_TRUE(apply("tile<1,4>"));
}

TEST_F(CompilationTest, Vectorizes) {
  EXPECT_TRUE(apply("vectorize"));
  EXPECT_EQ(loopNest(compilation_->module())[6], 32);
  const MachineCode* code = nullptr;
  ASSERT_TRUE(compilation_->machineCode(code).ok());
  EXPECT_NE(code->llvmIr.find("x float>"), std::string::npos);
}

TEST_F(CompilationTest, ProgramIsNotBlamedForALackOfFiles) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::unique_ptr<Compilation> other;
  const grpc::Status status = Compilation::start(kTwice, other);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(status, IsError(StatusCode::RESOURCE_EXHAUSTED, ""));
  EXPECT_TRUE(Compilation::start(kTwice, other).ok());
}

TEST_F(CompilationTest, ProgramIsNotBlamedForALackOfProcesses) {
  // One process compiles the program, and another one runs it.
  for (int allowed = 0; allowed < 2; ++allowed) {
    std::unique_ptr<Compilation> other;
    const util::RefusedForks refused(1, allowed);
    EXPECT_THAT(Compilation::start(kTwice, other),
                IsError(StatusCode::RESOURCE_EXHAUSTED, "Resource temporarily unavailable"));
    EXPECT_TRUE(Compilation::start(kTwice, other).ok());
  }
}

TEST_F(CompilationTest, CodeIsNotBlamedForALackOfProcesses) {
  for (int allowed = 0; allowed < 2; ++allowed) {
    EXPECT_TRUE(apply(allowed == 0 ? "vectorize" : "lower-transfer"));
    const util::RefusedForks refused(1, allowed);
    std::vector<double> seconds;
    const auto measure = [&] {
      return compilation_->measure(RunCounts(), std::chrono::seconds(60), seconds);
    };
    EXPECT_EQ(measure().error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(measure().ok());
  }
}

TEST_F(CompilationTest, UnknownPass) {
  bool changed = false;
  EXPECT_THAT(compilation_->apply("no-such-pass", changed), IsError(StatusCode::INTERNAL, ""));
}

}  // namespace
}  // namespace compiler_gym::mlir_service
