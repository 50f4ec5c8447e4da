// The RPC service around a CompilationSession class, in the process of a test.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/runtime/BenchmarkCache.h"
#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"
#include "compiler_gym/service/runtime/server/rpc/RpcService.h"

namespace compiler_gym::runtime {

// Implements the RPCs that proto/compiler_gym_service.proto documents, for sessions of class
// `CompilationSessionType`. Programs call createAndRunCompilerGymService() of Runtime.h rather than
// using this class.
//
// All methods may be called from any number of threads. Requests for one session are handled one
// after the other; requests for different sessions never wait for each other, and neither does
// starting, forking or ending sessions. A session that is ended while a request is at work on it is
// killed; that request, and those that wait for the session, then find it gone (NOT_FOUND).
template <typename CompilationSessionType>
class CompilerGymService final : public RpcService {
 public:
  // `workingDirectory` must exist; sessions receive it. Without `benchmarks`, a cache of the
  // default size is made. Forks the process that constructs the sessions, so call it before any
  // thread is started. Throws std::runtime_error if no session can be constructed there.
  explicit CompilerGymService(const boost::filesystem::path& workingDirectory,
                              std::unique_ptr<BenchmarkCache> benchmarks = nullptr)
      : RpcService(std::make_shared<RpcHandlers>(
            startForkServer(workingDirectory), workingDirectory, Limits(), std::move(benchmarks))) {
  }

  // A service of these sessions.
  explicit CompilerGymService(std::shared_ptr<RpcHandlers> sessions, std::string directSocket = "")
      : RpcService(std::move(sessions), std::move(directSocket)) {}

 private:
  static std::unique_ptr<ForkServerProcess> startForkServer(
      const boost::filesystem::path& workingDirectory) {
    std::unique_ptr<ForkServerProcess> forkServer;
    const grpc::Status status = ForkServerProcess::start(
        makeSessionFactory<CompilationSessionType>(), workingDirectory, Limits(),
        /*removeDirectory=*/[] {}, &forkServer);
    if (!status.ok()) throw std::runtime_error(status.error_message());
    return forkServer;
  }
};

}  // namespace compiler_gym::runtime
