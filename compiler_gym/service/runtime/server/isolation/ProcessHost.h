// The workers of a service.
#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <memory>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/server/isolation/DeferredWork.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/isolation/PristinePool.h"
#include "compiler_gym/service/runtime/server/isolation/Reproducers.h"
#include "compiler_gym/service/runtime/server/isolation/SpareWorkers.h"
#include "compiler_gym/service/runtime/server/isolation/Worker.h"

namespace compiler_gym::runtime {

// The socket that a client of the direct channel gets with a new session.
struct ClientSocket {
  // The socket of the session, for the reply. None if the session was not started as a copy.
  util::FileDescriptor socket;
  // To be destroyed after the reply was sent: a client that has to wait for a processor until that
  // is over would wait longer than for all else.
  std::shared_ptr<void> afterReply;
};

// The channel of a request.
struct RequestContext {
  Deadline deadline;
  // Set for clients of the direct channel.
  ClientSocket* clientSocket = nullptr;
};

// Starts, copies, asks and ends workers. A session whose process has died answers every request
// with the reason, see Worker. May be used by any number of threads.
class ProcessHost {
 public:
  ProcessHost(std::shared_ptr<ForkServerProcess> forkServer,
              const boost::filesystem::path& workingDirectory, const Limits& limits);

  const ServiceDescription& description() const { return forkServer_->description(); }
  PristinePool& pristine() { return pristine_; }

  // Starts a session on the benchmark, which `request` need not hold, and puts the observations
  // into the reply. The spaces of the request exist.
  grpc::Status start(const std::shared_ptr<const Benchmark>& benchmark,
                     const StartSessionRequest& request, const RequestContext& context,
                     StartSessionReply* reply, std::shared_ptr<Worker>* process);

  // Starts a copy.
  grpc::Status fork(const std::shared_ptr<Worker>& original, const RequestContext& context,
                    std::shared_ptr<Worker>* copy);

  // Makes a request of a session. If that has died in an action, the first to find out saves a
  // reproducer.
  grpc::Status call(const std::shared_ptr<Worker>& process, Method method,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, Deadline deadline);

  // Destroys a session a moment later.
  void dispose(std::shared_ptr<Worker> process);

  // Ends all sessions; requests at work then fail.
  void stop() { forkServer_->stop(); }

 private:
  grpc::Status startAndObserve(const std::shared_ptr<const Benchmark>& benchmark,
                               const StartSessionRequest& request, const RequestContext& context,
                               StartSessionReply* reply, std::shared_ptr<Worker>* process);
  grpc::Status copyProcess(const std::shared_ptr<Worker>& original, const RequestContext& context,
                           std::shared_ptr<Worker>* copy);
  grpc::Status repeatInAnother(const Worker& original, const RequestContext& context,
                               std::shared_ptr<Worker>* copy);
  // The status of a request to the process, with all that can be said if it has died.
  grpc::Status explain(const std::shared_ptr<Worker>& process, const grpc::Status& status,
                       Deadline deadline);

  const std::shared_ptr<ForkServerProcess> forkServer_;
  SpareWorkers spareWorkers_;
  PristinePool pristine_;
  Reproducers reproducers_;
  // Ends the processes of sessions that were ended, and makes spares. Destroyed before all else.
  DeferredWork deferredWork_;
};

}  // namespace compiler_gym::runtime
