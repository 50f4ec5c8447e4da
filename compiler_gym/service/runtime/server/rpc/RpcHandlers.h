// Implementation of the RPCs, for both fronts.
#pragma once

#include <grpcpp/support/status.h>

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
#include "compiler_gym/service/runtime/server/isolation/ProcessHost.h"
#include "compiler_gym/service/runtime/server/rpc/WorkerTable.h"

namespace compiler_gym::runtime {

// The RPCs of proto/compiler_gym_service.proto, which documents them, whichever way a request has
// arrived (RpcService, DirectServer).
//
// All methods may be called from any number of threads. Requests for different sessions never wait
// for each other. A session that is ended while a request is at work on it is killed: that request,
// and those that wait for the session, find it gone (NOT_FOUND).
class RpcHandlers {
 public:
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

  // Leases, see HoldLease in the protocol. The front end through which a client holds one calls
  // closeLease() when the client is gone.
  int64_t openLease() { return table_.openLease(); }
  void closeLease(int64_t lease);

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
  grpc::Status setParameter(const std::shared_ptr<Worker>& session,
                            const SessionParameter& parameter, SendSessionParameterReply* reply,
                            Deadline deadline);

  // Ends the idle watcher, and makes leases last as long as the object.
  void noteStopping();
  // Ends idle sessions, until the service stops.
  void watchIdle();
  void dispose(std::vector<std::shared_ptr<Worker>> sessions, const char* reason);

  const Limits limits_;
  const std::unique_ptr<BenchmarkCache> benchmarks_;
  ProcessHost host_;
  WorkerTable table_;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool isStopping_ = false;
  std::thread idleWatcher_;
};

}  // namespace compiler_gym::runtime
