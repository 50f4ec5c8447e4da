#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/filesystem.hpp>
#include <boost/filesystem/fstream.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/server/access/ServiceServer.h"
#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using std::chrono::milliseconds;
using toy::makeBenchmark;
using toy::ToyClient;

class ServiceServerTest : public ::testing::Test {
 protected:
  ServiceServerTest() : service_(makeToySessions()) {}
  ~ServiceServerTest() override {
    fs::remove(directory_ / "asleep");
    fs::remove(directory_ / "released");
  }

  std::unique_ptr<ServiceServer> start(const std::string& host = "127.0.0.1", int port = 0,
                                       int maxMessageBytes = -1) {
    std::unique_ptr<ServiceServer> server;
    status_ = ServiceServer::start(&service_, {host, port, maxMessageBytes, {}, {}}, &server);
    return server;
  }

  // Starts a step that takes `duration`, and returns while it is at work.
  std::future<Status> sleepingStep(const ToyClient& client, milliseconds duration) {
    const int64_t session = client.startOn("abc");
    const std::string milliseconds = std::to_string(duration.count());
    EXPECT_TRUE(client.send(session, {{"toy.set_sleep_milliseconds", milliseconds}}).ok());
    auto step = std::async(std::launch::async,
                           [&client, session] { return client.step(session, {"sleep"}).status; });
    for (int i = 0; i < 10000 && !fs::exists(directory_ / "asleep"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return step;
  }

  const fs::path& directory_ = toyDirectory();
  CompilerGymService<toy::ToySession> service_;
  Status status_;
};

TEST_F(ServiceServerTest, ThreadLimit) {
  ServerOptions options;
  options.maxThreads = 6;
  std::unique_ptr<ServiceServer> server;
  ASSERT_TRUE(ServiceServer::start(&service_, options, &server).ok());
  const ToyClient client(server->port());
  std::vector<std::future<StatusCode>> starts;
  std::atomic<int> done = 0;
  for (int i = 0; i < 12; ++i) {
    starts.push_back(std::async(std::launch::async, [&, i] {
      const StatusCode code =
          client.start(makeBenchmark("uri" + std::to_string(i), "awaited")).code();
      ++done;
      return code;
    }));
  }
  // All that are refused: the others wait.
  while (done < 6) std::this_thread::sleep_for(milliseconds(2));
  fs::ofstream(directory_ / "released") << "released";
  int refused = 0;
  for (auto& each : starts) {
    const StatusCode code = each.get();
    EXPECT_TRUE(code == StatusCode::OK || code == StatusCode::RESOURCE_EXHAUSTED) << code;
    if (code != StatusCode::OK) ++refused;
  }
  EXPECT_GE(refused, 6);
  EXPECT_TRUE(client.getVersion().ok());
}

TEST_F(ServiceServerTest, ShutdownWaitsForRequests) {
  const auto server = start();
  const ToyClient client(server->port());
  auto step = sleepingStep(client, milliseconds(300));
  EXPECT_TRUE(server->shutdown(std::chrono::hours(1)));
  EXPECT_THAT(step.get(), IsOk());
  EXPECT_FALSE(client.getVersion().ok());
}

TEST_F(ServiceServerTest, ShutdownDoesNotWaitForIdleClients) {
  const auto server = start();
  const ToyClient client(server->port());
  EXPECT_TRUE(client.getVersion().ok());
  EXPECT_TRUE(server->shutdown(std::chrono::hours(1)));
}

TEST_F(ServiceServerTest, ShutdownCancelsRequestsAfterTheGrace) {
  const auto server = start();
  const ToyClient client(server->port());
  auto step = sleepingStep(client, std::chrono::hours(1));
  EXPECT_FALSE(server->shutdown(milliseconds(200)));
  EXPECT_FALSE(step.get().ok());
  fs::ofstream(directory_ / "released") << "released";
  // Destroying the server waits for the end of the step.
}

}  // namespace
}  // namespace compiler_gym::runtime
