// Implementation of the RPCs, for both fronts.
#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/BenchmarkCache.h"
#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/server/isolation/DeferredWork.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/isolation/PristinePool.h"
#include "compiler_gym/service/runtime/server/isolation/Reproducers.h"
#include "compiler_gym/service/runtime/server/isolation/SpareWorkers.h"
#include "compiler_gym/service/runtime/server/isolation/Worker.h"
#include "compiler_gym/service/runtime/server/rpc/WorkerTable.h"

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

// The RPCs of proto/compiler_gym_service.proto, which documents them, whichever way a request has
// arrived (RpcService, DirectServer). Starts, copies, asks and ends workers for them.
//
// All methods may be called from any number of threads. Requests for different sessions never wait
// for each other. A session that is ended while a request is at work on it is killed: that request,
// and those that wait for the session, find it gone (NOT_FOUND). A session whose process has died
// answers every request with the reason, see Worker.
class RpcHandlers {
 public:
  // A lease, see HoldLease in the protocol. Its sessions end when it is destroyed.
  class Lease {
   public:
    Lease(RpcHandlers& handlers, int64_t id) : handlers_(handlers), id_(id) {}
    ~Lease() { handlers_.closeLease(id_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    int64_t id() const { return id_; }

   private:
    RpcHandlers& handlers_;
    const int64_t id_;
  };

  // `workingDirectory` is where reproducers go. Without `benchmarks`, a cache of the default size
  // is made.
  RpcHandlers(std::shared_ptr<ForkServerProcess> forkServer,
              const boost::filesystem::path& workingDirectory, const Limits& limits,
              std::unique_ptr<BenchmarkCache> benchmarks = nullptr);
  ~RpcHandlers();

  grpc::Status getVersion(const GetVersionRequest& request, GetVersionReply* reply,
                          const RequestContext& context);
  grpc::Status getSpaces(const GetSpacesRequest& request, GetSpacesReply* reply,
                         const RequestContext& context);
  grpc::Status startSession(const StartSessionRequest& request, StartSessionReply* reply,
                            const RequestContext& context);
  grpc::Status forkSession(const ForkSessionRequest& request, ForkSessionReply* reply,
                           const RequestContext& context);
  grpc::Status endSession(const EndSessionRequest& request, EndSessionReply* reply,
                          const RequestContext& context);
  grpc::Status step(const StepRequest& request, StepReply* reply, const RequestContext& context);
  grpc::Status addBenchmark(const AddBenchmarkRequest& request, AddBenchmarkReply* reply,
                            const RequestContext& context);
  grpc::Status sendSessionParameter(const SendSessionParameterRequest& request,
                                    SendSessionParameterReply* reply,
                                    const RequestContext& context);

  // Opens a lease for a client, to be destroyed when the client is gone. RESOURCE_EXHAUSTED if
  // there are too many.
  grpc::Status openLease(std::unique_ptr<Lease>* lease);

  // Number of sessions that were started or forked and not ended.
  int sessionCount() const { return static_cast<int>(table_.size()); }

  BenchmarkCache& benchmarks() { return *benchmarks_; }

  // The deadline of a request whose client sets none.
  Deadline defaultDeadline() const;

  // Ends all workers, which makes the requests at work return.
  void stop();

 private:
  // RESOURCE_EXHAUSTED if the maximum number of sessions is open.
  grpc::Status reserve(WorkerTable::Reservation* reservation);
  void closeLease(int64_t lease);

  // Starts a worker on the benchmark, which `request` need not hold, and puts the observations into
  // the reply. The spaces of the request exist.
  grpc::Status startWorker(const std::shared_ptr<const Benchmark>& benchmark,
                           const StartSessionRequest& request, const RequestContext& context,
                           StartSessionReply* reply, std::shared_ptr<Worker>* worker);
  grpc::Status startAndObserve(const std::shared_ptr<const Benchmark>& benchmark,
                               const StartSessionRequest& request, const RequestContext& context,
                               StartSessionReply* reply, std::shared_ptr<Worker>* worker);
  // Makes a worker for a copy of the session.
  grpc::Status forkWorker(const std::shared_ptr<Worker>& original, const RequestContext& context,
                          std::shared_ptr<Worker>* copy);
  grpc::Status copyProcess(const std::shared_ptr<Worker>& original, const RequestContext& context,
                           std::shared_ptr<Worker>* copy);
  grpc::Status repeatInAnother(const Worker& original, const RequestContext& context,
                               std::shared_ptr<Worker>* copy);
  // Makes a request of a worker. If that has died in an action, the first to find out saves a
  // reproducer.
  grpc::Status call(const std::shared_ptr<Worker>& worker, Method method,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply, Deadline deadline);
  // The status of a request to the worker, with all that can be said if it has died.
  grpc::Status explain(const std::shared_ptr<Worker>& worker, const grpc::Status& status,
                       Deadline deadline);
  grpc::Status setParameter(const std::shared_ptr<Worker>& worker,
                            const SessionParameter& parameter, SendSessionParameterReply* reply,
                            Deadline deadline);

  // Ends the idle watcher, and makes leases last as long as the object.
  void noteStopping();
  // Ends idle sessions, until the service stops.
  void watchIdle();
  void dispose(std::vector<std::shared_ptr<Worker>> workers, const char* reason);
  // Destroys a worker a moment later.
  void dispose(std::shared_ptr<Worker> worker);

  const Limits limits_;
  const std::unique_ptr<BenchmarkCache> benchmarks_;
  const std::shared_ptr<ForkServerProcess> forkServer_;
  SpareWorkers spareWorkers_;
  PristinePool pristine_;
  Reproducers reproducers_;
  // Ends the processes of sessions that were ended, and makes spares. Destroyed before the others
  // above.
  DeferredWork deferredWork_;
  WorkerTable table_;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool isStopping_ = false;
  std::thread idleWatcher_;
};

}  // namespace compiler_gym::runtime
