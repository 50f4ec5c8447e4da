// A toy service and a client, for tests of the RPCs.
#pragma once

#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <optional>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/server/access/ServiceServer.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/isolation/IsolatedBackend.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {

// The URI of a benchmark.
constexpr char kUri[] = "benchmark://toy-v0/program";

// How the service runs and is reached.
enum class Setting {
  // Its methods are called.
  kCalls,
  // By gRPC, all sessions in the process of the service.
  kGrpc,
  // By gRPC, each session in a process of its own.
  kProcesses,
};

// What the session processes of all tests are forked from. The first call must come before any
// thread is started.
ForkServerProcess& forkServer();

// CompilerGymServiceTest.cc instantiates all tests with each setting.
class CompilerGymServiceTest : public ::testing::TestWithParam<Setting> {
 protected:
  CompilerGymServiceTest() : service_(makeService()) {
    if (GetParam() == Setting::kCalls) {
      client_.emplace(&service_);
    } else {
      const grpc::Status status = ServiceServer::start(&service_, ServerOptions(), &server_);
      EXPECT_TRUE(status.ok()) << status.error_message();
      client_.emplace(server_->port());
    }
  }

  const toy::ToyClient& client() const { return *client_; }
  int sessionCount() const { return service_.sessionCount(); }
  BenchmarkCache& benchmarks() { return service_.benchmarks(); }

 private:
  static CompilerGymService<toy::ToySession> makeService() {
    const boost::filesystem::path directory = boost::filesystem::temp_directory_path();
    if (GetParam() != Setting::kProcesses) return CompilerGymService<toy::ToySession>(directory);
    return CompilerGymService<toy::ToySession>(std::make_shared<Sessions>(
        makeIsolatedBackend(forkServer(), directory, Limits()), Limits()));
  }

  CompilerGymService<toy::ToySession> service_;
  std::unique_ptr<ServiceServer> server_;
  std::optional<toy::ToyClient> client_;
};

}  // namespace compiler_gym::runtime
