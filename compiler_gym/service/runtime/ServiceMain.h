// The part of a service program that does not depend on the compiler.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <functional>
#include <memory>

namespace compiler_gym::runtime {

// A service, and how to ask it for its number of open sessions.
struct HostedService {
  std::shared_ptr<grpc::Service> service;
  std::function<int()> sessionCount;
};

// Makes the service, given a directory that it may use.
using ServiceFactory = std::function<HostedService(const boost::filesystem::path&)>;

// Parses the flags, makes the service, serves until SIGTERM or SIGINT, and cleans up. Use
// createAndRunCompilerGymService(), which documents the arguments and exit codes.
[[nodiscard]] int runServiceMain(int argc, char** argv, const char* usage,
                                 const ServiceFactory& makeService);

}  // namespace compiler_gym::runtime
