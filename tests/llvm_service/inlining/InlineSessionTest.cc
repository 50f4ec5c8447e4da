// The game as a service offers it.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "llvm_service/LlvmSession.h"
#include "llvm_service/inlining/InlineActions.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Statuses.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

Event numbered(int64_t number) {
  Event event;
  event.set_int64_value(number);
  return event;
}

class InlineSessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<LlvmSession> start(const std::string& name, int actionSpace) {
    auto session = std::make_unique<LlvmSession>(directory_.path(), inlineGame());
    EXPECT_THAT(
        session->init(session->getActionSpaces().at(actionSpace), makeBenchmark(kernel(name))),
        IsOk());
    return session;
  }

  struct Outcome {
    bool ended = false;
    bool hadNoEffect = false;
  };

  static Outcome act(LlvmSession& session, int64_t action) {
    Outcome outcome;
    std::optional<ActionSpace> newSpace;
    session.beginStep(1);
    EXPECT_THAT(session.applyAction(numbered(action), outcome.ended, newSpace, outcome.hadNoEffect),
                IsOk());
    return outcome;
  }

  static Event observe(LlvmSession& session, const std::string& name) {
    ObservationSpace wanted;
    for (const ObservationSpace& space : session.getObservationSpaces()) {
      if (space.name() == name) wanted = space;
    }
    Event event;
    EXPECT_THAT(session.computeObservation(wanted, event), IsOk()) << name;
    return event;
  }

  const TemporaryDirectory directory_;
};

TEST_F(InlineSessionTest, EndsWithTheLastQuestion) {
  const auto session = start("sha256", 0);
  int64_t number = 0;
  Outcome outcome;
  while (!outcome.ended) {
    const Event question = observe(*session, "InlineQuestion");
    EXPECT_EQ(question.event_dict().event().at("number").int64_value(), number++);
    outcome = act(*session, 2);
    EXPECT_FALSE(outcome.hadNoEffect);
    ASSERT_LT(number, 1000);
  }
  EXPECT_GT(number, 1);
  const Event question = observe(*session, "InlineQuestion");
  EXPECT_EQ(question.event_dict().event().at("number").int64_value(), -1);
  EXPECT_EQ(observe(*session, "ObjectTextSizeBytes").int64_value(),
            observe(*session, "ObjectTextSizeOz").int64_value());
}

TEST_F(InlineSessionTest, RefusesActionsOutOfRange) {
  const auto session = start("sha256", 0);
  for (const int64_t number : {-1, 3}) {
    bool flag = false;
    std::optional<ActionSpace> newSpace;
    EXPECT_EQ(session->applyAction(numbered(number), flag, newSpace, flag).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  ActionSpace unknown;
  unknown.set_name("PassesAll");
  LlvmSession other(directory_.path(), inlineGame());
  EXPECT_EQ(other.init(unknown, makeBenchmark(kernel("sha256"))).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(InlineSessionTest, DecisionsAboutMissingCallsHaveNoEffect) {
  const auto session = start("sha256", 1);
  const std::string before = observe(*session, "Ir").string_value();
  EXPECT_TRUE(act(*session, 3 * (kInlineSites - 1) + 1).hadNoEffect);
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
