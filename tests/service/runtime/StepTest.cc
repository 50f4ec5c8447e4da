// Steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/service/runtime/CompilerGymServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(CompilerGymServiceTest, ActionsAreAppliedInOrder) {
  const int64_t session = client().startOn("abc");
  const auto answer =
      client().step(session, {"reverse", "append-a", "rotate", "uppercase"}, {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.observation(0).string_value(), "BAAC");
  EXPECT_FALSE(answer.reply.end_of_session());
  EXPECT_FALSE(answer.reply.action_had_no_effect());
  EXPECT_FALSE(answer.reply.has_new_action_space());
}

TEST_P(CompilerGymServiceTest, NoEffectIsToldOfTheWholeStep) {
  const int64_t session = client().startOn("ABC");
  EXPECT_TRUE(client().step(session, {}).reply.action_had_no_effect());
  EXPECT_TRUE(client().step(session, {"no-op", "uppercase"}).reply.action_had_no_effect());
  EXPECT_FALSE(client().step(session, {"no-op", "rotate"}).reply.action_had_no_effect());
  EXPECT_FALSE(client().step(session, {"rotate", "no-op"}).reply.action_had_no_effect());
}

TEST_P(CompilerGymServiceTest, RepeatedObservationIsComputedOnce) {
  const int64_t session = client().startOn("abc");
  const auto answer =
      client().step(session, {}, {toy::kCounter, toy::kLength, toy::kCounter, toy::kCounter});
  ASSERT_TRUE(answer.ok()) << answer.message();
  std::vector<int64_t> values;
  for (const Event& event : answer.reply.observation()) values.push_back(event.int64_value());
  EXPECT_THAT(values, ElementsAre(1, 3, 1, 1));
  EXPECT_EQ(client().step(session, {}, {toy::kCounter}).reply.observation(0).int64_value(), 2);
}

TEST_P(CompilerGymServiceTest, ActionsStopAtTheEndOfTheEpisode) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"append-a", "end", "reverse"}, {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_TRUE(answer.reply.end_of_session());
  EXPECT_EQ(answer.reply.observation(0).string_value(), "abca");

  const auto refused = client().step(session, {"reverse"});
  EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.message(), HasSubstr("has reached its end"));

  const auto observed = client().step(session, {}, {toy::kText});
  ASSERT_TRUE(observed.ok()) << observed.message();
  EXPECT_TRUE(observed.reply.end_of_session());
  EXPECT_EQ(observed.reply.observation(0).string_value(), "abca");
  EXPECT_TRUE(client().end(session).ok());
}

TEST_P(CompilerGymServiceTest, EndOfStepComesAfterTheObservationsOfEachStep) {
  const int64_t session = client().startOn("abc");
  const auto first = client().step(session, {"rotate", "rotate"}, {toy::kEndOfSteps});
  EXPECT_EQ(first.reply.observation(0).int64_value(), 0);
  const auto second = client().step(session, {}, {toy::kEndOfSteps});
  EXPECT_EQ(second.reply.observation(0).int64_value(), 1);
}

TEST_P(CompilerGymServiceTest, ObservationThatFailsIsToldFromAnActionThatIsRefused) {
  const int64_t session = client().startOn("aba");
  StepRequest request;
  request.set_session_id(session);
  request.add_action()->set_int64_value(toy::actionNumber("append-a"));
  request.add_action()->set_int64_value(toy::actionNumber("end-later"));
  request.add_observation_space(toy::kText);
  request.add_observation_space(toy::kFailing);
  request.set_has_observation_errors(true);
  const auto failed = client().step(request);
  ASSERT_TRUE(failed.ok()) << failed.message();
  EXPECT_EQ(failed.reply.observation_error().code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(failed.reply.observation_error().message(), HasSubstr("needs another text"));
  EXPECT_EQ(failed.reply.observation_size(), 0);
  EXPECT_FALSE(failed.reply.action_had_no_effect());
  EXPECT_TRUE(failed.reply.end_of_session());
  EXPECT_EQ(client().textOf(session), "abaa");

  request.mutable_action()->Clear();
  request.mutable_observation_space()->RemoveLast();
  const auto observed = client().step(request);
  ASSERT_TRUE(observed.ok()) << observed.message();
  EXPECT_FALSE(observed.reply.has_observation_error());
  EXPECT_EQ(observed.reply.observation(0).string_value(), "abaa");
}

TEST_P(CompilerGymServiceTest, ObservationThatFailsEndsTheStepOfAFormerClient) {
  const int64_t session = client().startOn("aba");
  EXPECT_EQ(client().step(session, {"append-a"}, {toy::kFailing}).code(),
            StatusCode::FAILED_PRECONDITION);
  const auto observed = client().step(session, {}, {toy::kText, toy::kEndOfSteps});
  ASSERT_TRUE(observed.ok()) << observed.message();
  EXPECT_EQ(observed.reply.observation(0).string_value(), "abaa");
  EXPECT_EQ(observed.reply.observation(1).int64_value(), 1);
}

TEST_P(CompilerGymServiceTest, EndOfStepCanEndTheEpisode) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"end-later", "rotate"}, {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_TRUE(answer.reply.end_of_session());
  EXPECT_EQ(answer.reply.observation(0).string_value(), "bca");
  EXPECT_EQ(client().step(session, {"rotate"}).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(CompilerGymServiceTest, EndOfStepCanFailTheStep) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"append-a", "corrupt"}, {toy::kText});
  EXPECT_EQ(answer.code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(answer.message(), "The text is corrupt");
}

TEST_P(CompilerGymServiceTest, NewActionSpace) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"restrict", "rotate"});
  ASSERT_TRUE(answer.ok()) << answer.message();
  ASSERT_TRUE(answer.reply.has_new_action_space());
  EXPECT_THAT(answer.reply.new_action_space().space().named_discrete().name(),
              ElementsAre("uppercase", "reverse", "rotate", "append-a", "no-op"));
  EXPECT_EQ(client().step(session, {"end"}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_FALSE(client().step(session, {"rotate"}).reply.has_new_action_space());
}

TEST_P(CompilerGymServiceTest, RefusedActionKeepsThoseBeforeIt) {
  const int64_t session = client().startOn("abc");
  StepRequest request;
  request.set_session_id(session);
  request.add_action()->set_int64_value(toy::actionNumber("append-a"));
  request.add_action()->set_int64_value(1000);
  EXPECT_EQ(client().step(request).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client().textOf(session), "abca");
}

// Nobody knows what the program is after an action that has failed half-way.
TEST_P(CompilerGymServiceTest, SessionDoesNotGoOnAfterAFailure) {
  const int64_t session = client().startOn("abc");
  const int64_t other = client().startOn("other");
  const auto failed = client().step(session, {"append-a", "fail", "reverse"}, {toy::kText});
  EXPECT_EQ(failed.code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(failed.message(), "The action fail left the program invalid");
  const auto later = client().step(session, {"reverse"}, {toy::kText});
  EXPECT_EQ(later.code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(
      later.message(),
      "The session cannot continue after an earlier failure: The action fail left the program "
      "invalid");
  EXPECT_EQ(client().step(session, {}, {toy::kText}).code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(client().send(session, {{"toy.get_sleep_milliseconds", ""}}).code(),
            StatusCode::DATA_LOSS);
  const auto fork = client().fork(session);
  EXPECT_FALSE(fork.ok() && client().step(fork.reply.session_id(), {"reverse"}).ok());
  EXPECT_EQ(client().textOf(other), "other");
  EXPECT_TRUE(client().end(session).ok());
}

TEST_P(CompilerGymServiceTest, ParameterThatBreaksTheProgramEndsTheUseOfTheSession) {
  const int64_t session = client().startOn("abc");
  EXPECT_EQ(client().send(session, {{"toy.corrupt", ""}}).code(), StatusCode::DATA_LOSS);
  const auto later = client().step(session, {"reverse"}, {toy::kText});
  EXPECT_EQ(later.code(), StatusCode::DATA_LOSS);
  EXPECT_THAT(later.message(), HasSubstr("cannot continue after an earlier failure"));
  EXPECT_TRUE(client().end(session).ok());
}

TEST_P(CompilerGymServiceTest, BadRequestsChangeNothing) {
  const int64_t session = client().startOn("abc");
  EXPECT_EQ(client().step(session, {"reverse"}, {9}).message(),
            "observation_space(9) is not in range [0, 9)");
  EXPECT_EQ(client().step(session, {"reverse"}, {-1}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client().textOf(session), "abc");
  EXPECT_EQ(client().step(session, {"no such action"}).code(), StatusCode::INVALID_ARGUMENT);
  StepRequest empty;
  empty.set_session_id(session);
  empty.add_action();
  EXPECT_EQ(client().step(empty).code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace compiler_gym::runtime
