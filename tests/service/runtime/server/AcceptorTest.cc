// Tests of which connections a server accepts.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/server/access/Acceptor.h"
#include "compiler_gym/service/runtime/server/access/ServiceServer.h"
#include "compiler_gym/util/FileDescriptor.h"
#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"
#include "tests/service/runtime/server/OtherUser.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using std::chrono::milliseconds;
using toy::ToyClient;
using util::FileDescriptor;

FileDescriptor connectTo(int port, in_addr_t host = INADDR_LOOPBACK) {
  FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(host);
  if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    client.close();
  }
  return client;
}

ToyClient clientOf(const std::string& target) {
  return ToyClient(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
}

milliseconds processorTime() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto inMilliseconds = [](const timeval& time) {
    return milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000);
  };
  return inMilliseconds(usage.ru_utime) + inMilliseconds(usage.ru_stime);
}

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() : service_(makeToySessions()) {}

  fs::path unixSocket() const { return directory_ / "s"; }

  std::unique_ptr<ServiceServer> start(const ServerOptions& options) {
    std::unique_ptr<ServiceServer> server;
    status_ = ServiceServer::start(&service_, options, &server);
    return server;
  }
  std::unique_ptr<ServiceServer> startOn(const std::string& host = "127.0.0.1") {
    ServerOptions options;
    options.host = host;
    options.unixSocket = unixSocket();
    return start(options);
  }

  const fs::path& directory_ = toyDirectory();
  CompilerGymService<toy::ToySession> service_;
  Status status_;
};

TEST_F(AcceptorTest, LoopbackHasManyNames) {
  for (const char* host : {"127.0.0.1", "127.3.2.1", "localhost", "::1", "[::1]"}) {
    const auto server = startOn(host);
    ASSERT_THAT(status_, IsOk());
    const std::string name = std::string(host) == "::1" ? "[::1]" : host;
    EXPECT_TRUE(clientOf(name + ":" + std::to_string(server->port())).getVersion().ok()) << host;
  }
}

TEST_F(AcceptorTest, UnknownHost) {
  EXPECT_EQ(startOn("no.such.host.invalid"), nullptr);
  EXPECT_THAT(status_, IsError(StatusCode::UNAVAILABLE, "--host=no.such.host.invalid"));
}

TEST_F(AcceptorTest, AnyNumberOfSilentClients) {
  const auto server = startOn();
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(connectTo(server->port()));
    ASSERT_TRUE(clients.back().isOpen());
  }
  EXPECT_TRUE(ToyClient(server->port()).getVersion().ok());
  EXPECT_TRUE(server->shutdown(std::chrono::hours(1)));
}

TEST_F(AcceptorTest, SocketOfAnEarlierServiceIsReplaced) {
  startOn();
  ASSERT_TRUE(fs::exists(unixSocket()));
  const auto server = startOn();
  ASSERT_THAT(status_, IsOk());
  EXPECT_EQ(greetUnixSocket(unixSocket().c_str()), kAnswered);
  struct stat information = {};
  ASSERT_EQ(stat(unixSocket().c_str(), &information), 0);
  EXPECT_EQ(information.st_mode & 0777, 0600);
}

// It waits for files to be closed, without using the processor, and then goes on.
TEST_F(AcceptorTest, TooManyOpenFiles) {
  const auto server = startOn();
  ASSERT_TRUE(ToyClient(server->port()).getVersion().ok());
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const FileDescriptor& client : clients) {
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  const milliseconds used = processorTime();
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_LT((processorTime() - used).count(), 500);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(ToyClient(server->port()).getVersion().ok());
}

}  // namespace
}  // namespace compiler_gym::runtime
