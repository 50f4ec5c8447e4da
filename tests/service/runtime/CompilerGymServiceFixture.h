// A toy service and a client, for tests of the RPCs.
#pragma once

#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <optional>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/ServiceServer.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {

// The URI of a benchmark.
constexpr char kUri[] = "benchmark://toy-v0/program";

// The parameter is whether requests go through a gRPC server; otherwise the service's methods are
// called. CompilerGymServiceTest.cc instantiates all tests with both.
class CompilerGymServiceTest : public ::testing::TestWithParam<bool> {
 protected:
  CompilerGymServiceTest() : service_(boost::filesystem::temp_directory_path()) {
    if (GetParam()) {
      const grpc::Status status = ServiceServer::start(&service_, "127.0.0.1", 0, -1, &server_);
      EXPECT_TRUE(status.ok()) << status.error_message();
      client_.emplace(server_->port());
    } else {
      client_.emplace(&service_);
    }
  }

  const toy::ToyClient& client() const { return *client_; }

  CompilerGymService<toy::ToySession> service_;
  std::unique_ptr<ServiceServer> server_;
  std::optional<toy::ToyClient> client_;
};

}  // namespace compiler_gym::runtime
