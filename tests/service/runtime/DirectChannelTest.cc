// The direct channel, as a client that knows its frames only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "tests/Effort.h"
#include "tests/service/runtime/DirectClient.h"
#include "tests/service/runtime/ToyServiceFixture.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using util::FileDescriptor;

class DirectChannelTest : public IsolatedServiceTest {
 protected:
  void startService(std::vector<std::string> arguments = {}) {
    start(std::move(arguments));
    socketName_ = directSocketOf(port_);
    ASSERT_NE(socketName_, "");
    service_ = connect();
  }

  Channel connect() const { return connectTo(socketName_); }

  // Starts a session, and takes the socket to its process.
  int64_t startOn(const std::string& text, Channel* session) {
    StartSessionRequest request;
    *request.mutable_benchmark() = makeBenchmark("benchmark://toy-v0/" + text, text);
    StartSessionReply reply;
    EXPECT_THAT(callWithSocket(service_, Method::kStartSession, request, &reply, session), IsOk());
    return static_cast<int64_t>(reply.session_id());
  }

  // The service still answers on a new connection.
  void expectDirectServes() {
    Channel other = connect();
    GetVersionReply version;
    EXPECT_THAT(roundTrip(other, Method::kGetVersion, GetVersionRequest(), &version, soon()),
                IsOk());
    EXPECT_EQ(version.compiler_version(), "toy 1.0");
    expectServes();
  }

  std::string socketName_;
  Channel service_;
};

// A client may go on before the session has copied itself.
TEST_F(DirectChannelTest, ForksAreOfTheStateInWhichTheyWereAskedFor) {
  startService({"--spare_sessions=0"});
  Channel session;
  ForkSessionRequest request;
  request.set_session_id(startOn("", &session));
  std::string text;
  StepReply reply;
  for (int i = 0; i < effort(60, 200); ++i) {
    ForkSessionReply forked;
    Channel copy;
    ASSERT_TRUE(callWithSocket(service_, Method::kForkSession, request, &forked, &copy).ok());
    ASSERT_TRUE(roundTrip(session, Method::kStep, stepOf(0, {3}), &reply, soon()).ok());
    ASSERT_TRUE(roundTrip(copy, Method::kStep, stepOf(0, {}), &reply, soon()).ok());
    ASSERT_EQ(reply.observation(0).string_value(), text);
    ASSERT_TRUE(client().end(forked.session_id()).ok());
    text += "a";
  }
}

TEST_F(DirectChannelTest, ForkOfASessionThatDiesFirst) {
  startService({"--pristine_sessions_mib=0"});
  Channel session;
  const int64_t id = startOn("abc", &session);
  const std::string hang = stepOf(0, {11}).SerializeAsString();
  ASSERT_TRUE(session.send(static_cast<uint16_t>(Method::kStep), hang, soon()).ok());
  awaitAsleep();
  ASSERT_TRUE(eventually([this] { return sessionProcesses().size() == 1; }));
  const auto copy = client().fork(id);
  ASSERT_THAT(copy.status, IsOk());
  ASSERT_EQ(kill(sessionProcesses().front(), SIGKILL), 0);
  EXPECT_THAT(client().step(copy.reply.session_id(), {"reverse"}).status,
              IsError(StatusCode::ABORTED, "was to be a copy ended before it was copied"));
  EXPECT_TRUE(client().end(copy.reply.session_id()).ok());
  EXPECT_TRUE(client().end(id).ok());
  expectDirectServes();
}

TEST_F(DirectChannelTest, UnknownMethods) {
  startService();
  Channel session;
  const int64_t id = startOn("abc", &session);
  const auto expectUnknown = [](Channel& channel, const std::vector<uint16_t>& methods) {
    for (const uint16_t method : methods) {
      ASSERT_TRUE(channel.send(method, "", soon()).ok());
      Frame frame;
      ASSERT_TRUE(channel.receive(&frame, soon()).ok()) << method;
      EXPECT_EQ(frame.code, static_cast<uint16_t>(StatusCode::UNIMPLEMENTED)) << method;
    }
  };
  expectUnknown(service_, {0, 10, 100, 102, 103, 104, 65535});
  expectDirectServes();
  // The socket of a session serves steps alone.
  expectUnknown(session, {1, 2, 3, 4, 5, 7, 8, 9, 100, 101, 102, 103, 104, 105, 106, 65535});
  StepReply reply;
  EXPECT_TRUE(roundTrip(session, Method::kStep, stepOf(0, {1}), &reply, soon()).ok());
  EXPECT_EQ(client().textOf(id), "cba");
}

TEST_F(DirectChannelTest, ClosingTheSocketOfABusySessionEndsItsProcess) {
  startService({"--pristine_sessions_mib=0"});
  for (const int64_t action : {17, 11}) {  // loop, hang
    Channel session;
    const int64_t id = startOn("abc", &session);
    ASSERT_TRUE(session
                    .send(static_cast<uint16_t>(Method::kStep),
                          stepOf(0, {action}).SerializeAsString(), soon())
                    .ok());
    awaitAsleep();
    ASSERT_TRUE(eventually([this] { return sessionProcesses().size() == 1; }));
    session.close();
    EXPECT_TRUE(eventually([this] { return sessionProcesses().empty(); }));
    EXPECT_EQ(client().step(id, {}).code(), StatusCode::ABORTED);
    EXPECT_TRUE(client().end(id).ok());
    boost::filesystem::remove(working() / "asleep");
  }
}

TEST_F(DirectChannelTest, TimeLimitOfAFrame) {
  startService();
  for (const int64_t action : {17, 11}) {  // loop, hang
    Channel session;
    const int64_t id = startOn("abc", &session);
    const Deadline begin = Clock::now();
    ASSERT_TRUE(session
                    .send(static_cast<uint16_t>(Method::kStep),
                          stepOf(0, {action}).SerializeAsString(), soon(),
                          std::chrono::milliseconds(500))
                    .ok());
    Frame frame;
    EXPECT_EQ(session.receive(&frame, soon()).error_code(), StatusCode::UNAVAILABLE);
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(500));
    StepReply reply;
    EXPECT_THAT(
        roundTrip(service_, Method::kStep, stepOf(id, {1}), &reply, soon()),
        IsError(StatusCode::DEADLINE_EXCEEDED, "The time limit of 0.5 s was exceeded in action"));
  }
}

// ---------------------------------------------------------------------------
// Clients that break the rules.

TEST_F(DirectChannelTest, PayloadThatIsNoMessage) {
  startService();
  Channel session;
  startOn("abc", &session);
  for (Channel* const channel : {&service_, &session}) {
    ASSERT_TRUE(channel->send(static_cast<uint16_t>(Method::kStep), "\xff\xff\xff", soon()).ok());
    Frame frame;
    ASSERT_TRUE(channel->receive(&frame, soon()).ok());
    EXPECT_EQ(frame.code, static_cast<uint16_t>(StatusCode::INVALID_ARGUMENT));
    EXPECT_EQ(frame.payload, "The payload is not a serialised compiler_gym.StepRequest");
  }
  StepReply reply;
  EXPECT_TRUE(roundTrip(session, Method::kStep, stepOf(0, {1}), &reply, soon()).ok());
}

TEST_F(DirectChannelTest, OversizedFrames) {
  startService({"--max_message_bytes=1000"});
  Channel session;
  const int64_t id = startOn("abc", &session);
  for (Channel* const channel : {&service_, &session}) {
    // The header alone: the service must not wait for the rest.
    ASSERT_TRUE(sendBytes(*channel, headerOf(1001, 6)));
    Frame frame;
    ASSERT_TRUE(channel->receive(&frame, soon()).ok());
    EXPECT_EQ(frame.code, static_cast<uint16_t>(StatusCode::RESOURCE_EXHAUSTED));
    EXPECT_THAT(frame.payload, HasSubstr("of 1001 bytes is larger than the limit of 1000"));
    EXPECT_EQ(channel->receive(&frame, soon()).error_code(), StatusCode::UNAVAILABLE);
  }
  EXPECT_TRUE(client().end(id).ok());
  expectDirectServes();
}

TEST_F(DirectChannelTest, UnwantedDescriptorsAreClosed) {
  startService();
  Channel session;
  startOn("abc", &session);
  for (Channel* const channel : {&service_, &session}) {
    FileDescriptor ours;
    FileDescriptor theirs;
    ASSERT_TRUE(Channel::pair(&ours, &theirs).ok());
    StepReply reply;
    roundTrip(*channel, Method::kStep, stepOf(99, {1}), &reply, soon(), {theirs.get()});
    theirs.close();
    // Until the next frame they may be kept.
    roundTrip(*channel, Method::kStep, stepOf(99, {1}), &reply, soon());
    Channel end(std::move(ours));
    Frame frame;
    EXPECT_EQ(end.receive(&frame, soon()).error_code(), StatusCode::UNAVAILABLE);
  }
}

}  // namespace
}  // namespace compiler_gym::runtime
