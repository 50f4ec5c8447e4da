// The RPC service around a CompilationSession class.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/proto/compiler_gym_service.grpc.pb.h"
#include "compiler_gym/service/runtime/BenchmarkCache.h"
#include "compiler_gym/service/runtime/HostedSession.h"
#include "compiler_gym/service/runtime/ServiceDescription.h"
#include "compiler_gym/service/runtime/SessionMap.h"

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
class CompilerGymService final : public compiler_gym::CompilerGymService::Service {
  static_assert(std::is_base_of_v<CompilationSession, CompilationSessionType>,
                "A service hosts a subclass of CompilationSession");
  static_assert(
      std::is_constructible_v<CompilationSessionType, const boost::filesystem::path&>,
      "A CompilationSession is constructed from the working directory (inherit its constructor)");

 public:
  // `workingDirectory` must exist; sessions receive it. Without `benchmarks`, a cache of the
  // default size is made. Constructs one session, to learn the compiler's version and spaces;
  // exceptions of that session leave this constructor.
  explicit CompilerGymService(const boost::filesystem::path& workingDirectory,
                              std::unique_ptr<BenchmarkCache> benchmarks = nullptr);

  grpc::Status GetVersion(grpc::ServerContext* context, const GetVersionRequest* request,
                          GetVersionReply* reply) override;

  grpc::Status GetSpaces(grpc::ServerContext* context, const GetSpacesRequest* request,
                         GetSpacesReply* reply) override;

  grpc::Status StartSession(grpc::ServerContext* context, const StartSessionRequest* request,
                            StartSessionReply* reply) override;

  grpc::Status ForkSession(grpc::ServerContext* context, const ForkSessionRequest* request,
                           ForkSessionReply* reply) override;

  grpc::Status EndSession(grpc::ServerContext* context, const EndSessionRequest* request,
                          EndSessionReply* reply) override;

  grpc::Status Step(grpc::ServerContext* context, const StepRequest* request,
                    StepReply* reply) override;

  grpc::Status AddBenchmark(grpc::ServerContext* context, const AddBenchmarkRequest* request,
                            AddBenchmarkReply* reply) override;

  grpc::Status SendSessionParameter(grpc::ServerContext* context,
                                    const SendSessionParameterRequest* request,
                                    SendSessionParameterReply* reply) override;

  BenchmarkCache& benchmarks() { return *benchmarks_; }

  // Number of sessions that were started or forked and not ended.
  int sessionCount() const { return static_cast<int>(sessions_.size()); }

 protected:
  // NOT_FOUND if there is no such session. The pointer keeps the session alive while another thread
  // ends it, and its methods take the session's lock.
  grpc::Status session(uint64_t id, std::shared_ptr<HostedSession>* session) const;

  // INVALID_ARGUMENT if `index` is not in the list. The pointers are valid as long as the service.
  // Spaces are the same for all sessions, so `session` may be null.
  grpc::Status action_space(const CompilationSession* session, int index,
                            const ActionSpace** actionSpace) const;
  grpc::Status observation_space(const CompilationSession* session, int index,
                                 const ObservationSpace** observationSpace) const;

  const boost::filesystem::path& workingDirectory() const { return workingDirectory_; }

  // Makes a session known to clients, and returns its id.
  uint64_t addSession(std::shared_ptr<HostedSession> session);

  // Handles the parameters that every service has; leaves `reply` unset if `key` is not one.
  grpc::Status handleBuiltinSessionParameter(const std::string& key, const std::string& value,
                                             std::optional<std::string>& reply);

 private:
  std::unique_ptr<CompilationSession> makeSession() const {
    return std::make_unique<CompilationSessionType>(workingDirectory_);
  }

  const boost::filesystem::path workingDirectory_;
  const std::unique_ptr<BenchmarkCache> benchmarks_;
  const ServiceDescription description_;
  SessionMap<HostedSession> sessions_;
};

}  // namespace compiler_gym::runtime

#include "compiler_gym/service/runtime/CompilerGymServiceImpl.h"
