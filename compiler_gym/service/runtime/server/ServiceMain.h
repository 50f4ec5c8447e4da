// The part of a service program that does not depend on the compiler.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/server/rpc/RpcService.h"
#include "compiler_gym/service/runtime/server/rpc/Sessions.h"

namespace compiler_gym::runtime {

// Makes the service that serves these sessions by gRPC. `directSocket` is as of RpcService.
using ServiceFactory = std::function<std::unique_ptr<RpcService>(std::shared_ptr<Sessions> sessions,
                                                                 std::string directSocket)>;

// Parses the flags, makes the sessions where the flag --isolation says and the service, serves
// until SIGTERM or SIGINT, and cleans up. Use createAndRunCompilerGymService(), which documents the
// arguments and exit codes.
[[nodiscard]] int runServiceMain(int argc, char** argv, const char* usage,
                                 const SessionFactory& makeSession,
                                 const ServiceFactory& makeService);

}  // namespace compiler_gym::runtime
