// The game as a service offers it.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "llvm_service/inlining/InlineActions.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/SessionPlayer.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

class InlineSessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<LlvmSession> start(int actionSpace) {
    auto session = std::make_unique<LlvmSession>(directory_.path(), inlineGame());
    EXPECT_THAT(
        session->init(session->getActionSpaces().at(actionSpace), makeBenchmark(kernel("sha256"))),
        IsOk());
    return session;
  }

  static int64_t numberOfQuestion(LlvmSession& session) {
    return observe(session, "InlineQuestion").event_dict().event().at("number").int64_value();
  }

  const TemporaryDirectory directory_;
};

TEST_F(InlineSessionTest, EndsWithTheLastQuestion) {
  const auto session = start(0);
  int64_t number = 0;
  StepEnd end;
  while (!end.isLast) {
    EXPECT_EQ(numberOfQuestion(*session), number++);
    end = step(*session, 2);
    EXPECT_FALSE(end.hadNoEffect);
    ASSERT_LT(number, 1000);
  }
  EXPECT_GT(number, 1);
  EXPECT_EQ(numberOfQuestion(*session), -1);
  EXPECT_EQ(observe(*session, "ObjectTextSizeBytes").int64_value(),
            observe(*session, "ObjectTextSizeOz").int64_value());
}

TEST_F(InlineSessionTest, RefusesActionsOutOfRange) {
  const auto session = start(0);
  for (const int64_t number : {-1, 3}) {
    StepEnd end;
    EXPECT_THAT(tryStep(*session, number, &end),
                IsError(grpc::StatusCode::INVALID_ARGUMENT, std::to_string(number)));
  }
  ActionSpace unknown;
  unknown.set_name("PassesAll");
  LlvmSession other(directory_.path(), inlineGame());
  EXPECT_THAT(other.init(unknown, makeBenchmark(kernel("sha256"))),
              IsError(grpc::StatusCode::INVALID_ARGUMENT, "PassesAll"));
}

TEST_F(InlineSessionTest, DecisionsAboutMissingCallsHaveNoEffect) {
  const auto session = start(1);
  const std::string before = observe(*session, "Ir").string_value();
  EXPECT_TRUE(step(*session, 3 * (kInlineSites - 1) + 1).hadNoEffect);
  EXPECT_EQ(observe(*session, "Ir").string_value(), before);
}

TEST_F(InlineSessionTest, ObservationsHaveDistinctNames) {
  const LlvmSession session(directory_.path(), inlineGame());
  std::set<std::string> names;
  for (const ObservationSpace& space : session.getObservationSpaces()) {
    EXPECT_TRUE(names.insert(space.name()).second) << space.name();
  }
  EXPECT_EQ(names.count("Remarks"), 0U);
  EXPECT_EQ(names.count("ObjectTextSizeBytes"), 1U);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
