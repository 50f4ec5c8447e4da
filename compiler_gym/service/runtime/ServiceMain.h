// The part of a service program that does not depend on the compiler.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <functional>
#include <memory>

#include "compiler_gym/service/runtime/Isolation.h"

namespace compiler_gym::runtime {

// A service, and what its program needs to know of it.
struct HostedService {
  std::shared_ptr<grpc::Service> service;
  // The number of open sessions.
  std::function<int()> sessionCount;
  // Makes the requests at work return; unset if that is not possible.
  std::function<void()> interrupt;
};

// Makes a service that runs its sessions in its own process, given a directory that it may use.
using ServiceFactory = std::function<HostedService(const boost::filesystem::path&)>;

// Parses the flags, makes the service, serves until SIGTERM or SIGINT, and cleans up. Which of the
// two factories is used depends on the flag --isolation. Use createAndRunCompilerGymService(),
// which documents the arguments and exit codes.
[[nodiscard]] int runServiceMain(int argc, char** argv, const char* usage,
                                 const ServiceFactory& makeService,
                                 const SessionFactory& makeSession);

}  // namespace compiler_gym::runtime
