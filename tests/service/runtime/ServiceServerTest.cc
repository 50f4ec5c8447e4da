#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/ServiceServer.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

using grpc::Status;
using grpc::StatusCode;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using toy::ToyClient;

class ServiceServerTest : public ::testing::Test {
 protected:
  ServiceServerTest() : service_(boost::filesystem::temp_directory_path()) {}

  std::unique_ptr<ServiceServer> start(const std::string& host = "127.0.0.1", int port = 0,
                                       int maxMessageBytes = -1) {
    std::unique_ptr<ServiceServer> server;
    status_ = ServiceServer::start(&service_, host, port, maxMessageBytes, &server);
    return server;
  }

  CompilerGymService<toy::ToySession> service_;
  Status status_;
};

TEST_F(ServiceServerTest, AnyPort) {
  const auto first = start();
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  const auto second = start();
  EXPECT_GT(first->port(), 0);
  EXPECT_NE(first->port(), second->port());
  EXPECT_TRUE(ToyClient(first->port()).getVersion().ok());
  EXPECT_TRUE(ToyClient(second->port()).getVersion().ok());
}

TEST_F(ServiceServerTest, PortInUse) {
  const auto first = start();
  const auto second = start("127.0.0.1", first->port());
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(status_.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status_.error_message(),
              HasSubstr("Cannot listen on 127.0.0.1:" + std::to_string(first->port())));
}

TEST_F(ServiceServerTest, HostThatIsNotOurs) {
  EXPECT_EQ(start("192.0.2.1"), nullptr);
  EXPECT_EQ(status_.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status_.error_message(), HasSubstr("192.0.2.1:0"));
}

TEST_F(ServiceServerTest, MessagesHaveNoLimitByDefault) {
  const auto server = start();
  const ToyClient client(server->port());
  // More than gRPC's own default of 4 MiB.
  const std::string text(10 << 20, 'x');
  const auto answer = client.start(makeBenchmark("uri", text), {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.observation(0).string_value(), text);
}

TEST_F(ServiceServerTest, MessageLimit) {
  const auto server = start("127.0.0.1", 0, 10000);
  const ToyClient client(server->port());
  EXPECT_TRUE(client.start(makeBenchmark("uri", std::string(9000, 'x')), {toy::kText}).ok());
  const auto answer = client.start(makeBenchmark("uri", std::string(11000, 'x')));
  EXPECT_EQ(answer.code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServiceServerTest, ShutdownWaitsForRequests) {
  const auto server = start();
  const ToyClient client(server->port());
  const int64_t session = client.startOn("abc");
  ASSERT_TRUE(client.send(session, {{"toy.set_sleep_milliseconds", "300"}}).ok());
  auto step = std::async(std::launch::async, [&] { return client.step(session, {"sleep"}); });
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_TRUE(server->shutdown(milliseconds(10000)));
  const auto answer = step.get();
  EXPECT_TRUE(answer.ok()) << answer.message();
  EXPECT_FALSE(client.getVersion().ok());
}

TEST_F(ServiceServerTest, ShutdownCancelsRequestsAfterTheGrace) {
  const auto server = start();
  const ToyClient client(server->port());
  const int64_t session = client.startOn("abc");
  ASSERT_TRUE(client.send(session, {{"toy.set_sleep_milliseconds", "1500"}}).ok());
  auto step = std::async(std::launch::async, [&] { return client.step(session, {"sleep"}); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(server->shutdown(milliseconds(200)));
  EXPECT_LT(std::chrono::steady_clock::now() - before, milliseconds(1200));
  EXPECT_FALSE(step.get().ok());
  // The end of the handler lets the shutdown end; destroying the server waits for it.
}

}  // namespace
}  // namespace compiler_gym::runtime
