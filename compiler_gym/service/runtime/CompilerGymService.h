// The RPC service around a CompilationSession class.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <string>
#include <utility>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/runtime/BenchmarkCache.h"
#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/server/rpc/InProcessBackend.h"
#include "compiler_gym/service/runtime/server/rpc/RpcService.h"
#include "compiler_gym/service/runtime/server/rpc/Sessions.h"

namespace compiler_gym::runtime {

// Implements the RPCs of proto/compiler_gym_service.proto, which documents what they do, for
// sessions of class `CompilationSessionType`. Programs call createAndRunCompilerGymService() of
// Runtime.h rather than using this class.
//
// All methods may be called from any number of threads. Requests for one session are handled one
// after the other; requests for different sessions never wait for each other, and neither does
// starting, forking or ending sessions. A session that is ended while a request is at work on it
// lives until that request is done; requests still waiting for it then find it gone (NOT_FOUND).
template <typename CompilationSessionType>
class CompilerGymService final : public RpcService {
 public:
  // A service whose sessions live in this process, where a compiler that crashes ends them all.
  // `workingDirectory` must exist; sessions receive it. Without `benchmarks`, a cache of the
  // default size is made. Constructs one session, to learn the compiler's version and spaces;
  // exceptions of that session leave this constructor.
  explicit CompilerGymService(const boost::filesystem::path& workingDirectory,
                              std::unique_ptr<BenchmarkCache> benchmarks = nullptr)
      : RpcService(std::make_shared<Sessions>(
            makeInProcessBackend(makeSessionFactory<CompilationSessionType>(), workingDirectory),
            Limits(), std::move(benchmarks))) {}

  // A service of sessions that live wherever `sessions` makes them.
  explicit CompilerGymService(std::shared_ptr<Sessions> sessions, std::string directSocket = "")
      : RpcService(std::move(sessions), std::move(directSocket)) {}
};

}  // namespace compiler_gym::runtime
