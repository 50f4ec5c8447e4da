// A toy service and a client, for tests of the RPCs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/server/access/ServiceServer.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {

// The URI of a benchmark.
constexpr char kUri[] = "benchmark://toy-v0/program";

// The address of the service.
enum class Setting {
  // Its methods are called.
  kCalls,
  kGrpc,
};

// CompilerGymServiceTest.cc instantiates all tests with each setting.
class CompilerGymServiceTest : public ::testing::TestWithParam<Setting> {
 protected:
  CompilerGymServiceTest() : service_(makeToySessions()) {
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
  CompilerGymService<toy::ToySession> service_;
  std::unique_ptr<ServiceServer> server_;
  std::optional<toy::ToyClient> client_;
};

}  // namespace compiler_gym::runtime
