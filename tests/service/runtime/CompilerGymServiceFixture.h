// A toy service and a client, for tests of the RPCs.
#pragma once

#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <optional>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/ForkServer.h"
#include "compiler_gym/service/runtime/IsolatedService.h"
#include "compiler_gym/service/runtime/ServiceServer.h"
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
ForkServer& forkServer();

// CompilerGymServiceTest.cc instantiates all tests with each setting.
class CompilerGymServiceTest : public ::testing::TestWithParam<Setting> {
 protected:
  CompilerGymServiceTest() {
    if (GetParam() == Setting::kProcesses) {
      sessions_.emplace(forkServer(), boost::filesystem::temp_directory_path(), IsolationLimits());
      service_ = std::make_unique<IsolatedService>(*sessions_, "none");
    } else {
      auto inProcess = std::make_unique<CompilerGymService<toy::ToySession>>(
          boost::filesystem::temp_directory_path());
      inProcess_ = inProcess.get();
      service_ = std::move(inProcess);
    }
    if (GetParam() == Setting::kCalls) {
      client_.emplace(service_.get());
    } else {
      const grpc::Status status = ServiceServer::start(service_.get(), ServerOptions(), &server_);
      EXPECT_TRUE(status.ok()) << status.error_message();
      client_.emplace(server_->port());
    }
  }

  const toy::ToyClient& client() const { return *client_; }
  int sessionCount() const {
    return inProcess_ ? inProcess_->sessionCount() : sessions_->sessionCount();
  }
  const BenchmarkCache& benchmarks() const {
    return inProcess_ ? inProcess_->benchmarks() : sessions_->benchmarks();
  }

 private:
  std::optional<IsolatedSessions> sessions_;
  std::unique_ptr<compiler_gym::CompilerGymService::Service> service_;
  // The service, unless sessions are processes.
  CompilerGymService<toy::ToySession>* inProcess_ = nullptr;
  std::unique_ptr<ServiceServer> server_;
  std::optional<toy::ToyClient> client_;
};

}  // namespace compiler_gym::runtime
