// The direct channel's server when much happens at once.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/server/rpc/DirectServer.h"
#include "tests/service/runtime/DirectClient.h"
#include "tests/service/runtime/ToyForkServer.h"

namespace compiler_gym::runtime {
namespace {

constexpr size_t kMaxMessageBytes = 1 << 20;

class DirectServerTest : public ::testing::Test {
 protected:
  std::unique_ptr<DirectServer> startServer() {
    std::unique_ptr<DirectServer> server;
    EXPECT_THAT(DirectServer::start(*handlers_, kMaxMessageBytes, &server), IsOk());
    return server;
  }

  const std::shared_ptr<RpcHandlers> handlers_ = makeToySessions();
};

// A client that is accepted while the server begins to stop must not be waited for.
TEST_F(DirectServerTest, ClientsThatComeDuringTheStopAreTurnedAway) {
  for (int round = 0; round < 300; ++round) {
    std::unique_ptr<DirectServer> server = startServer();
    std::atomic<bool> isDone = false;
    std::vector<Channel> clients;
    std::thread connecting([&, name = server->name()] {
      while (!isDone) clients.push_back(connectTo(name));
    });
    EXPECT_TRUE(server->stop(std::chrono::seconds(100)));
    server.reset();
    isDone = true;
    connecting.join();
  }
}

TEST_F(DirectServerTest, HalfARequestIsNotWaitedForButSilenceIs) {
  std::unique_ptr<DirectServer> server;
  ASSERT_TRUE(
      DirectServer::start(*handlers_, kMaxMessageBytes, &server, std::chrono::milliseconds(20))
          .ok());
  const Channel half = connectTo(server->name());
  Channel silent = connectTo(server->name());
  ASSERT_TRUE(sendBytes(half, headerOf(4, 1).substr(0, 7)));
  EXPECT_TRUE(half.isReadable(std::chrono::minutes(1)));  // The end of file.
  EXPECT_FALSE(silent.isReadable());
  GetVersionReply reply;
  EXPECT_TRUE(roundTrip(silent, Method::kGetVersion, GetVersionRequest(), &reply, soon()).ok());
}

// Lets no thread be made, as if there were no room for its stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&former_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 46);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
  }
  ~NoThreads() { pthread_setattr_default_np(&former_); }

 private:
  pthread_attr_t former_;
};

// Nor may the service end because a thread cannot be made.
TEST_F(DirectServerTest, ClientsWithoutAThreadAreTurnedAway) {
  const std::unique_ptr<DirectServer> server = startServer();
  const auto serves = [&server] {
    Channel client = connectTo(server->name());
    GetVersionReply version;
    return roundTrip(client, Method::kGetVersion, GetVersionRequest(), &version, soon()).ok();
  };
  EXPECT_TRUE(serves());
  {
    const NoThreads none;
    EXPECT_FALSE(serves());
  }
  EXPECT_TRUE(serves());
}

}  // namespace
}  // namespace compiler_gym::runtime
