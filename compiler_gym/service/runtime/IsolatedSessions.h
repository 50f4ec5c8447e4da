// A service whose sessions are processes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/BenchmarkCache.h"
#include "compiler_gym/service/runtime/Channel.h"
#include "compiler_gym/service/runtime/Chores.h"
#include "compiler_gym/service/runtime/ForkServer.h"
#include "compiler_gym/service/runtime/Isolation.h"
#include "compiler_gym/service/runtime/PristinePool.h"
#include "compiler_gym/service/runtime/Reproducers.h"
#include "compiler_gym/service/runtime/SessionMap.h"
#include "compiler_gym/service/runtime/SessionProcess.h"
#include "compiler_gym/service/runtime/Spares.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// What a client of the direct channel gets with a new session.
struct Handover {
  // The socket of the session, for the reply.
  util::FileDescriptor client;
  // If the session is a fork, the order to make it, to be destroyed after the reply: a client that
  // has to wait for a processor until that is over would wait longer than for all else.
  std::unique_ptr<SessionProcess::CopyOrder> order;
};

// What the RPCs of proto/compiler_gym_service.proto do if each session is a process. No code of the
// compiler runs in this one.
//
// All methods may be called from any number of threads. A session whose process has died answers
// every request with the reason, see SessionProcess, until it is ended.
class IsolatedSessions {
 public:
  // `forkServer` must outlive this object.
  IsolatedSessions(ForkServer& forkServer, const boost::filesystem::path& workingDirectory,
                   const IsolationLimits& limits);

  const ServiceDescription& description() const { return forkServer_.description(); }

  // `handover` is for clients of the direct channel.
  grpc::Status startSession(const StartSessionRequest& request, StartSessionReply* reply,
                            Deadline deadline, Handover* handover = nullptr);
  grpc::Status forkSession(const ForkSessionRequest& request, ForkSessionReply* reply,
                           Deadline deadline, Handover* handover = nullptr);
  grpc::Status endSession(const EndSessionRequest& request, EndSessionReply* reply);
  grpc::Status step(const StepRequest& request, StepReply* reply, Deadline deadline);
  grpc::Status addBenchmark(const AddBenchmarkRequest& request);
  grpc::Status sendSessionParameter(const SendSessionParameterRequest& request,
                                    SendSessionParameterReply* reply, Deadline deadline);

  // Number of sessions that were started or forked and not ended.
  int sessionCount() const { return static_cast<int>(sessions_.size()); }

  const BenchmarkCache& benchmarks() const { return benchmarks_; }

  // The end of a request whose client sets none.
  Deadline defaultDeadline() const { return Clock::now() + limits_.requestTimeout; }

 private:
  grpc::Status checkSessionCount() const;
  // Returns the id.
  uint64_t add(const std::shared_ptr<IsolatedSession>& session, Handover* handover);
  // Makes a request of the session; the first to find it dead saves a reproducer.
  grpc::Status call(const std::shared_ptr<IsolatedSession>& session, Method method,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, Deadline deadline);
  grpc::Status explain(const std::shared_ptr<IsolatedSession>& session, const grpc::Status& status,
                       Deadline deadline);
  grpc::Status setParameter(const std::shared_ptr<IsolatedSession>& session,
                            const SessionParameter& parameter, SendSessionParameterReply* reply,
                            Deadline deadline);

  ForkServer& forkServer_;
  const IsolationLimits limits_;
  BenchmarkCache benchmarks_;
  Spares spares_;
  PristinePool pristine_;
  Reproducers reproducers_;
  SessionMap<IsolatedSession> sessions_;
  // Ends the processes of sessions that were ended, and makes spares. Destroyed before all else.
  Chores chores_;
};

}  // namespace compiler_gym::runtime
