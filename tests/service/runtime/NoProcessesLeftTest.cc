// Tests of a service on a machine that can make no further processes: pristine sessions that are
// idle are ended, since each of them is a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/Processes.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"
#include "tests/util/RefusedForks.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;
using toy::makeBenchmark;
using util::RefusedForks;

constexpr char kCannotFork[] = "Cannot make a process for the session: Resource temporarily";

class NoProcessesLeftTest : public ::testing::Test {
 protected:
  static Limits limits() {
    Limits limits;
    limits.maxSpares = 0;
    return limits;
  }

  NoProcessesLeftTest() : service_(makeToySessions(limits())), client_(&service_) {}

  void SetUp() override {
    // Those of the test before.
    ASSERT_TRUE(haveProcesses(0));
    for (int i = 0; i < 4; ++i) {
      const std::string text = "idle" + std::to_string(i);
      const int64_t session = client_.startOn(text);
      EXPECT_EQ(client_.textOf(session), text);
      EXPECT_TRUE(client_.end(session).ok());
    }
    ASSERT_TRUE(haveProcesses(4));
  }

  // Waits until there are so many processes of sessions and pristine sessions.
  static bool haveProcesses(size_t count) {
    return eventually([count] { return childrenOf(toyForkServer()->pid()).size() == count; });
  }

  CompilerGymService<toy::ToySession> service_;
  const toy::ToyClient client_;
};

TEST_F(NoProcessesLeftTest, NewProgramTakesThePlaceOfTwo) {
  const RefusedForks refused(1);
  const int64_t session = client_.startOn("new");
  EXPECT_EQ(refused.left(), 0);
  EXPECT_EQ(client_.textOf(session), "new");
  // Two that are idle, the new pristine session, and its copy.
  EXPECT_TRUE(haveProcesses(4));
}

TEST_F(NoProcessesLeftTest, ObservedSessionOfAKnownProgramTakesThePlaceOfTwo) {
  const RefusedForks refused(1);
  const auto started =
      client_.start(makeBenchmark("benchmark://toy-v0/idle3", "idle3"), {toy::kText});
  EXPECT_EQ(refused.left(), 0);
  ASSERT_THAT(started.status, IsOk());
  EXPECT_EQ(started.reply.observation(0).string_value(), "idle3");
  EXPECT_TRUE(haveProcesses(3));
}

TEST_F(NoProcessesLeftTest, StartFailsOnlyWhenNoneIsLeft) {
  constexpr int kMany = 1000;
  {
    const RefusedForks refused(kMany);
    EXPECT_THAT(client_.start(makeBenchmark("benchmark://toy-v0/new", "new")).status,
                IsError(StatusCode::RESOURCE_EXHAUSTED, kCannotFork));
    // With four, two, one and none of the idle ones left.
    EXPECT_EQ(refused.left(), kMany - 4);
    EXPECT_TRUE(haveProcesses(0));
  }
  EXPECT_EQ(client_.textOf(client_.startOn("new")), "new");
}

TEST_F(NoProcessesLeftTest, ProgramThatIsTooLargeTakesNoPlace) {
  EXPECT_THAT(client_.start(makeBenchmark("benchmark://toy-v0/new", "enormous")).status,
              IsError(StatusCode::RESOURCE_EXHAUSTED, "The program is too large"));
  EXPECT_TRUE(haveProcesses(4));
}

// The client has the id of the session before it turns out that there can be no process.
TEST_F(NoProcessesLeftTest, PromisedSessionFailsAndMakesRoomForTheNext) {
  const RefusedForks refused(1);
  const int64_t session = client_.startOn("idle3");
  const auto answer = client_.step(session, {}, {toy::kText});
  EXPECT_EQ(refused.left(), 0);
  EXPECT_THAT(answer.status, IsError(StatusCode::RESOURCE_EXHAUSTED, kCannotFork));
  EXPECT_TRUE(haveProcesses(2));
  EXPECT_EQ(client_.textOf(client_.startOn("idle3")), "idle3");
}

TEST_F(NoProcessesLeftTest, PromisedForkFailsAndMakesRoomForTheNext) {
  const int64_t original = client_.startOn("idle3");
  EXPECT_EQ(client_.textOf(original), "idle3");
  const RefusedForks refused(1);
  const auto failing = client_.fork(original);
  ASSERT_THAT(failing.status, IsOk());
  EXPECT_THAT(client_.step(failing.reply.session_id(), {}, {toy::kText}).status,
              IsError(StatusCode::RESOURCE_EXHAUSTED, kCannotFork));
  // Two that are idle, and the original.
  EXPECT_TRUE(haveProcesses(3));
  const auto forked = client_.fork(original);
  ASSERT_THAT(forked.status, IsOk());
  EXPECT_EQ(client_.textOf(forked.reply.session_id()), "idle3");
}

}  // namespace
}  // namespace compiler_gym::runtime
