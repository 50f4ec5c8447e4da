#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"

#include <glog/logging.h>

#include <optional>
#include <string>
#include <utility>

#include "compiler_gym/service/runtime/server/isolation/Repetition.h"
#include "compiler_gym/service/runtime/server/rpc/BuiltinParameters.h"
#include "compiler_gym/service/runtime/server/rpc/Requests.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

void attachSocket(Worker& worker, const RequestContext& context) {
  if (context.clientSocket) context.clientSocket->socket = worker.takeClientSocket();
}

}  // namespace

RpcHandlers::RpcHandlers(std::shared_ptr<ForkServerProcess> forkServer,
                         const boost::filesystem::path& workingDirectory, const Limits& limits,
                         std::unique_ptr<BenchmarkCache> benchmarks)
    : limits_(limits),
      benchmarks_(benchmarks ? std::move(benchmarks) : std::make_unique<BenchmarkCache>()),
      forkServer_(std::move(forkServer)),
      spareWorkers_(deferredWork_, limits.maxSpares),
      pristine_(*forkServer_, spareWorkers_, limits.pristineBytes,
                static_cast<size_t>(limits.maxPristine)),
      reproducers_(pristine_, workingDirectory, limits.maxReproducers),
      table_(limits.maxSessions) {
  if (limits.sessionIdle.count() > 0) idleWatcher_ = std::thread([this] { watchIdle(); });
}

RpcHandlers::~RpcHandlers() {
  noteStopping();
  if (idleWatcher_.joinable()) idleWatcher_.join();
}

void RpcHandlers::noteStopping() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  stopped_.notify_all();
}

void RpcHandlers::watchIdle() {
  // Checks per idle limit. A session exceeds its limit by at most one interval.
  constexpr int kLooks = 8;
  const auto interval = std::chrono::milliseconds(limits_.sessionIdle) / kLooks;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, interval, [this] { return isStopping_; })) {
    dispose(table_.removeIdle(Clock::now() - limits_.sessionIdle), "had no request for long");
  }
}

Status RpcHandlers::openLease(std::unique_ptr<Lease>* lease) {
  int64_t id = 0;
  RETURN_IF_ERROR(table_.openLease(&id));
  *lease = std::make_unique<Lease>(*this, id);
  return Status::OK;
}

void RpcHandlers::closeLease(int64_t lease) {
  {
    // A server that stops ends all leases. Their clients are still there, and may ask how their
    // sessions ended.
    const std::lock_guard lock(mutex_);
    if (isStopping_) return;
  }
  dispose(table_.closeLease(lease), "had a client that has gone");
}

void RpcHandlers::dispose(std::vector<std::shared_ptr<Worker>> workers, const char* reason) {
  if (workers.empty()) return;
  LOG(INFO) << "Ended " << workers.size() << " session(s) that " << reason << "; " << sessionCount()
            << " open";
  for (std::shared_ptr<Worker>& worker : workers) dispose(std::move(worker));
}

void RpcHandlers::dispose(std::shared_ptr<Worker> worker) {
  deferredWork_.add([worker = std::move(worker)]() mutable { worker.reset(); });
}

void RpcHandlers::stop() {
  noteStopping();
  // In the foreground, no fork server ends the session.
  if (limits_.isForeground) dispose(table_.removeAll(), "were open when the service was stopped");
  forkServer_->stop();
}

Status RpcHandlers::reserve(WorkerTable::Reservation* reservation) {
  const Status status = table_.reserve(reservation);
  if (status.ok() || !limits_.isForeground) return status;
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                "Expected one session at a time, because the service was started with "
                "--foreground, got a request for a second one: end the open session first, and do "
                "not fork it; or start the service without --foreground");
}

Deadline RpcHandlers::defaultDeadline() const {
  if (limits_.requestTimeout.count() == 0) return Clock::now() + kForever;
  return Clock::now() + limits_.requestTimeout;
}

Status RpcHandlers::getVersion(const GetVersionRequest& /*request*/, GetVersionReply* reply,
                               const RequestContext& /*context*/) {
  VLOG(2) << "GetVersion()";
  *reply = forkServer_->description().version();
  return Status::OK;
}

Status RpcHandlers::getSpaces(const GetSpacesRequest& /*request*/, GetSpacesReply* reply,
                              const RequestContext& /*context*/) {
  VLOG(2) << "GetSpaces()";
  *reply = forkServer_->description().spaces();
  return Status::OK;
}

Status RpcHandlers::startSession(const StartSessionRequest& request, StartSessionReply* reply,
                                 const RequestContext& context) {
  VLOG(2) << "StartSession(" << request.benchmark().uri() << ")";
  WorkerTable::Reservation reservation;
  RETURN_IF_ERROR(reserve(&reservation));
  std::shared_ptr<const Benchmark> benchmark;
  RETURN_IF_ERROR(findOrAddBenchmark(request.benchmark(), *benchmarks_, &benchmark));
  RETURN_IF_ERROR(forkServer_->description().checkSpaces(request));
  std::shared_ptr<Worker> worker;
  RETURN_IF_ERROR(startWorker(benchmark, request, context, reply, &worker));
  uint64_t id = 0;
  RETURN_IF_ERROR(table_.add(std::move(reservation), std::move(worker), request.lease_id(), &id));
  reply->set_session_id(static_cast<int64_t>(id));
  VLOG(1) << "Session " << id << " started on " << benchmark->uri() << "; " << sessionCount()
          << " open";
  return Status::OK;
}

Status RpcHandlers::startWorker(const std::shared_ptr<const Benchmark>& benchmark,
                                const StartSessionRequest& request, const RequestContext& context,
                                StartSessionReply* reply, std::shared_ptr<Worker>* worker) {
  // It may turn out only with the observation that a copy could not be made.
  RETURN_IF_ERROR(pristine_.withRoom(
      *worker, [&] { return startAndObserve(benchmark, request, context, reply, worker); }));
  attachSocket(**worker, context);
  return Status::OK;
}

Status RpcHandlers::startAndObserve(const std::shared_ptr<const Benchmark>& benchmark,
                                    const StartSessionRequest& request,
                                    const RequestContext& context, StartSessionReply* reply,
                                    std::shared_ptr<Worker>* worker) {
  RETURN_IF_ERROR(pristine_.start({benchmark, request.action_space()}, request.observation_space(),
                                  context.deadline, worker));
  if (request.observation_space().empty()) return Status::OK;
  StepRequest observe;
  *observe.mutable_observation_space() = request.observation_space();
  StepReply observed;
  RETURN_IF_ERROR((*worker)->call(Method::kObserve, observe, &observed, context.deadline));
  *reply->mutable_observation() = std::move(*observed.mutable_observation());
  return Status::OK;
}

Status RpcHandlers::forkSession(const ForkSessionRequest& request, ForkSessionReply* reply,
                                const RequestContext& context) {
  VLOG(2) << "ForkSession(" << request.session_id() << ")";
  WorkerTable::Reservation reservation;
  RETURN_IF_ERROR(reserve(&reservation));
  std::shared_ptr<Worker> original;
  int64_t lease = 0;
  RETURN_IF_ERROR(table_.find(static_cast<uint64_t>(request.session_id()), &original, &lease));
  std::shared_ptr<Worker> copy;
  RETURN_IF_ERROR(forkWorker(original, context, &copy));
  uint64_t id = 0;
  RETURN_IF_ERROR(table_.add(std::move(reservation), std::move(copy), lease, &id));
  reply->set_session_id(static_cast<int64_t>(id));
  VLOG(1) << "Session " << id << " forked from " << request.session_id() << "; " << sessionCount()
          << " open";
  return Status::OK;
}

Status RpcHandlers::forkWorker(const std::shared_ptr<Worker>& original,
                               const RequestContext& context, std::shared_ptr<Worker>* copy) {
  const Status forked = original->isForkable(context.deadline)
                            ? copyProcess(original, context, copy)
                            : repeatInAnother(*original, context, copy);
  if (!forked.ok()) return explain(original, forked, context.deadline);
  attachSocket(**copy, context);
  return Status::OK;
}

Status RpcHandlers::copyProcess(const std::shared_ptr<Worker>& original,
                                const RequestContext& context, std::shared_ptr<Worker>* copy) {
  std::unique_ptr<WorkerCopies::PendingCopy> pending;
  RETURN_IF_ERROR(pristine_.withRoom(
      *copy, [&] { return spareWorkers_.copy(original, context.deadline, copy, &pending); }));
  if (context.clientSocket) context.clientSocket->afterReply = std::move(pending);
  return Status::OK;
}

Status RpcHandlers::repeatInAnother(const Worker& original, const RequestContext& context,
                                    std::shared_ptr<Worker>* copy) {
  std::vector<HistoryEntry> history;
  if (!original.record().history(&history)) {
    return Status(StatusCode::RESOURCE_EXHAUSTED,
                  "This session cannot be forked: its process cannot be copied "
                  "(CompilationSession::forkable), and it has too many actions to repeat them");
  }
  RETURN_IF_ERROR(pristine_.start(original.origin(), /*observations=*/{}, context.deadline, copy));
  return repeatHistory(**copy, history, context.deadline);
}

Status RpcHandlers::endSession(const EndSessionRequest& request, EndSessionReply* reply,
                               const RequestContext& /*context*/) {
  VLOG(2) << "EndSession(" << request.session_id() << ")";
  std::shared_ptr<Worker> ended;
  size_t remaining = 0;
  RETURN_IF_ERROR(table_.remove(static_cast<uint64_t>(request.session_id()), &ended, &remaining));
  dispose(std::move(ended));
  reply->set_remaining_sessions(static_cast<int32_t>(remaining));
  VLOG(1) << "Session " << request.session_id() << " ended; " << remaining << " open";
  return Status::OK;
}

Status RpcHandlers::step(const StepRequest& request, StepReply* reply,
                         const RequestContext& context) {
  VLOG(2) << "Step(" << request.session_id() << "), " << request.action_size() << " actions, "
          << request.observation_space_size() << " observations";
  std::shared_ptr<Worker> worker;
  RETURN_IF_ERROR(table_.find(static_cast<uint64_t>(request.session_id()), &worker));
  return call(worker, Method::kStep, request, reply, context.deadline);
}

Status RpcHandlers::call(const std::shared_ptr<Worker>& worker, Method method,
                         const google::protobuf::MessageLite& request,
                         google::protobuf::MessageLite* reply, Deadline deadline) {
  const Status status = worker->call(method, request, reply, deadline);
  return status.ok() ? status : explain(worker, status, deadline);
}

Status RpcHandlers::explain(const std::shared_ptr<Worker>& worker, const Status& status,
                            Deadline deadline) {
  if (!worker->isDead()) return status;
  worker->explainOnce([&] {
    // The client already knows of this copy, which could not be made. Makes room for the next.
    if (worker->record().endReason() == EndReason::kNotForked) pristine_.makeRoom();
    if (!worker->hasDiedInAction()) return;
    // The deadline of the request has passed if the process exceeded it.
    const bool isLate = worker->record().endReason() == EndReason::kDeadline;
    worker->appendToEndReport(reproducers_.save(worker, isLate ? Clock::now() : deadline));
    LOG(WARNING) << worker->endStatus().error_message();
  });
  return worker->endStatus();
}

Status RpcHandlers::addBenchmark(const AddBenchmarkRequest& request, AddBenchmarkReply* /*reply*/,
                                 const RequestContext& /*context*/) {
  VLOG(2) << "AddBenchmark(), " << request.benchmark_size() << " benchmarks";
  return addBenchmarks(request, *benchmarks_);
}

Status RpcHandlers::sendSessionParameter(const SendSessionParameterRequest& request,
                                         SendSessionParameterReply* reply,
                                         const RequestContext& context) {
  VLOG(2) << "SendSessionParameter(" << request.session_id() << "), " << request.parameter_size()
          << " parameters";
  std::shared_ptr<Worker> worker;
  RETURN_IF_ERROR(table_.find(static_cast<uint64_t>(request.session_id()), &worker));
  for (const SessionParameter& parameter : request.parameter()) {
    RETURN_IF_ERROR(setParameter(worker, parameter, reply, context.deadline));
  }
  return Status::OK;
}

Status RpcHandlers::setParameter(const std::shared_ptr<Worker>& worker,
                                 const SessionParameter& parameter,
                                 SendSessionParameterReply* reply, Deadline deadline) {
  std::optional<std::string> builtinReply;
  RETURN_IF_ERROR(handleSizeParameters(kBenchmarkCacheParameters, parameter.key(),
                                       parameter.value(), *benchmarks_, builtinReply));
  RETURN_IF_ERROR(handleSizeParameters(kPristinePoolParameters, parameter.key(), parameter.value(),
                                       pristine_, builtinReply));
  if (builtinReply) {
    reply->add_reply(*std::move(builtinReply));
    return Status::OK;
  }
  SendSessionParameterRequest request;
  *request.add_parameter() = parameter;
  SendSessionParameterReply sessionReply;
  RETURN_IF_ERROR(call(worker, Method::kSendSessionParameter, request, &sessionReply, deadline));
  reply->MergeFrom(sessionReply);
  return Status::OK;
}

}  // namespace compiler_gym::runtime
