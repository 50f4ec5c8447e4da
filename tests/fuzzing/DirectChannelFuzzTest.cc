// Random frames on the sockets of the direct channel, from several clients at once.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzzing/Fuzzing.h"
#include "tests/service/runtime/DirectClient.h"
#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::fuzzing {
namespace {

using runtime::Channel;
using runtime::Clock;
using runtime::expectExit;
using runtime::Frame;
using runtime::Method;

constexpr int kClientCount = 4;

// A frame that is right in no, some or all of its parts.
std::string randomFrame(Random& random) {
  std::string payload;
  if (below(random, 2) > 0) {
    StepRequest request;
    fillRandomly(random, 20, &request);
    payload = request.SerializeAsString();
  }
  if (below(random, 3) == 0) payload = randomBytes(random, 300);
  if (!payload.empty() && below(random, 4) == 0) {
    payload[below(random, payload.size())] = static_cast<char>(random());
  }
  const auto method = static_cast<uint16_t>(below(random, 8) ? below(random, 10) : random());
  uint64_t size = payload.size();
  if (below(random, 6) == 0) size = below(random, 2) ? random() : below(random, 400);
  const uint64_t timeout = below(random, 3) ? below(random, 500'000) : random();
  return runtime::headerOf(static_cast<uint32_t>(size), method, timeout) + payload;
}

// Sends some frames, reads some of the replies, and leaves.
void play(Random& random, Channel& channel) {
  const uint64_t count = below(random, 5);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string bytes = below(random, 10) ? randomFrame(random) : randomBytes(random, 100);
    if (!runtime::sendBytes(channel, bytes)) return;
    Frame frame;
    if (below(random, 2) > 0) {
      channel.receive(&frame, Clock::now() + std::chrono::milliseconds(below(random, 20)));
    }
  }
}

class DirectChannelFuzzTest : public runtime::IsolatedServiceTest {
 protected:
  void startService() {
    start({"--request_timeout_seconds=30", "--session_memory_mib=300", "--max_sessions=40",
           "--max_message_bytes=1000000"});
    socketName_ = runtime::directSocketOf(port_);
    ASSERT_NE(socketName_, "");
  }

  Channel connect() const { return runtime::connectTo(socketName_); }

  // Sessions that nobody has ended are dead, but still count.
  void endAllSessions(uint64_t count) const {
    for (uint64_t id = 0; id < count; ++id) client().end(static_cast<int64_t>(id));
  }

  void expectUnharmed() {
    expectServes();
    Channel connection = connect();
    GetVersionReply version;
    EXPECT_TRUE(runtime::roundTrip(connection, Method::kGetVersion, GetVersionRequest(), &version,
                                   runtime::soon())
                    .ok());
    const std::vector<pid_t> all = descendantsOf(pid_);
    expectExit(stop(), 0);
    expectAllGone(all);
  }

  std::string socketName_;
};

TEST_F(DirectChannelFuzzTest, SocketOfTheService) {
  startService();
  const int64_t other = client().startOn("other");
  const int64_t calls = runInThreads(kClientCount, [&](Random& random) {
    Channel connection = connect();
    ASSERT_TRUE(connection.isOpen());
    play(random, connection);
  });
  std::cout << calls << " connections" << std::endl;
  // Frames that were well-formed may have used, and ended, any session.
  client().end(other);
  uint64_t next = 0;
  runtime::eventually([&] {
    endAllSessions(next + 1000);
    const int64_t session = client().startOn("abc");
    if (session < 0) return false;
    next = static_cast<uint64_t>(session);
    client().end(session);
    return true;
  });
  endAllSessions(next + 1);
  expectUnharmed();
}

TEST_F(DirectChannelFuzzTest, SocketOfASession) {
  startService();
  const int64_t other = client().startOn("other");
  const int64_t calls = runInThreads(kClientCount, [&](Random& random) {
    Channel connection = connect();
    StartSessionRequest request;
    *request.mutable_benchmark() = toy::makeBenchmark("uri", "abc");
    StartSessionReply reply;
    Channel session;
    const grpc::Status status =
        runtime::callWithSocket(connection, Method::kStartSession, request, &reply, &session);
    ASSERT_TRUE(status.ok()) << status.error_message();
    play(random, session);
    session.close();
    EXPECT_TRUE(client().end(static_cast<int64_t>(reply.session_id())).ok());
  });
  std::cout << calls << " sessions" << std::endl;
  EXPECT_EQ(client().textOf(other), "other");
  EXPECT_TRUE(client().end(other).ok());
  expectUnharmed();
}

}  // namespace
}  // namespace compiler_gym::fuzzing
