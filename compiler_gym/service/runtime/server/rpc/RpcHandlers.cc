#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"

#include <glog/logging.h>

#include <optional>
#include <string>
#include <utility>

#include "compiler_gym/service/runtime/server/rpc/BuiltinParameters.h"
#include "compiler_gym/service/runtime/server/rpc/Requests.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

RpcHandlers::RpcHandlers(std::shared_ptr<ForkServerProcess> forkServer,
                         const boost::filesystem::path& workingDirectory, const Limits& limits,
                         std::unique_ptr<BenchmarkCache> benchmarks)
    : limits_(limits),
      benchmarks_(benchmarks ? std::move(benchmarks) : std::make_unique<BenchmarkCache>()),
      host_(std::move(forkServer), workingDirectory, limits),
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

void RpcHandlers::closeLease(int64_t lease) {
  {
    // A server that stops ends all leases. Their clients are still there, and may ask how their
    // sessions ended.
    const std::lock_guard lock(mutex_);
    if (isStopping_) return;
  }
  dispose(table_.closeLease(lease), "had a client that has gone");
}

void RpcHandlers::dispose(std::vector<std::shared_ptr<Worker>> sessions, const char* reason) {
  if (sessions.empty()) return;
  LOG(INFO) << "Ended " << sessions.size() << " session(s) that " << reason << "; "
            << sessionCount() << " open";
  for (std::shared_ptr<Worker>& session : sessions) host_.dispose(std::move(session));
}

void RpcHandlers::stop() {
  noteStopping();
  // In the foreground, no fork server ends the session.
  if (limits_.isForeground) dispose(table_.removeAll(), "were open when the service was stopped");
  host_.stop();
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
  *reply = host_.description().version();
  return Status::OK;
}

Status RpcHandlers::getSpaces(const GetSpacesRequest& /*request*/, GetSpacesReply* reply,
                              const RequestContext& /*context*/) {
  VLOG(2) << "GetSpaces()";
  *reply = host_.description().spaces();
  return Status::OK;
}

Status RpcHandlers::startSession(const StartSessionRequest& request, StartSessionReply* reply,
                                 const RequestContext& context) {
  VLOG(2) << "StartSession(" << request.benchmark().uri() << ")";
  WorkerTable::Reservation reservation;
  RETURN_IF_ERROR(reserve(&reservation));
  std::shared_ptr<const Benchmark> benchmark;
  RETURN_IF_ERROR(findOrAddBenchmark(request.benchmark(), *benchmarks_, &benchmark));
  RETURN_IF_ERROR(host_.description().checkSpaces(request));
  std::shared_ptr<Worker> session;
  RETURN_IF_ERROR(host_.start(benchmark, request, context, reply, &session));
  uint64_t id = 0;
  RETURN_IF_ERROR(table_.add(std::move(reservation), std::move(session), request.lease_id(), &id));
  reply->set_session_id(static_cast<int64_t>(id));
  VLOG(1) << "Session " << id << " started on " << benchmark->uri() << "; " << sessionCount()
          << " open";
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
  RETURN_IF_ERROR(host_.fork(original, context, &copy));
  uint64_t id = 0;
  RETURN_IF_ERROR(table_.add(std::move(reservation), std::move(copy), lease, &id));
  reply->set_session_id(static_cast<int64_t>(id));
  VLOG(1) << "Session " << id << " forked from " << request.session_id() << "; " << sessionCount()
          << " open";
  return Status::OK;
}

Status RpcHandlers::endSession(const EndSessionRequest& request, EndSessionReply* reply,
                               const RequestContext& /*context*/) {
  VLOG(2) << "EndSession(" << request.session_id() << ")";
  std::shared_ptr<Worker> ended;
  size_t remaining = 0;
  RETURN_IF_ERROR(table_.remove(static_cast<uint64_t>(request.session_id()), &ended, &remaining));
  host_.dispose(std::move(ended));
  reply->set_remaining_sessions(static_cast<int32_t>(remaining));
  VLOG(1) << "Session " << request.session_id() << " ended; " << remaining << " open";
  return Status::OK;
}

Status RpcHandlers::step(const StepRequest& request, StepReply* reply,
                         const RequestContext& context) {
  VLOG(2) << "Step(" << request.session_id() << "), " << request.action_size() << " actions, "
          << request.observation_space_size() << " observations";
  std::shared_ptr<Worker> session;
  RETURN_IF_ERROR(table_.find(static_cast<uint64_t>(request.session_id()), &session));
  return host_.call(session, Method::kStep, request, reply, context.deadline);
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
  std::shared_ptr<Worker> session;
  RETURN_IF_ERROR(table_.find(static_cast<uint64_t>(request.session_id()), &session));
  for (const SessionParameter& parameter : request.parameter()) {
    RETURN_IF_ERROR(setParameter(session, parameter, reply, context.deadline));
  }
  return Status::OK;
}

Status RpcHandlers::setParameter(const std::shared_ptr<Worker>& session,
                                 const SessionParameter& parameter,
                                 SendSessionParameterReply* reply, Deadline deadline) {
  std::optional<std::string> builtinReply;
  RETURN_IF_ERROR(handleSizeParameters(kBenchmarkCacheParameters, parameter.key(),
                                       parameter.value(), *benchmarks_, builtinReply));
  RETURN_IF_ERROR(handleSizeParameters(kPristinePoolParameters, parameter.key(), parameter.value(),
                                       host_.pristine(), builtinReply));
  if (builtinReply) {
    reply->add_reply(*std::move(builtinReply));
    return Status::OK;
  }
  SendSessionParameterRequest request;
  *request.add_parameter() = parameter;
  SendSessionParameterReply sessionReply;
  RETURN_IF_ERROR(
      host_.call(session, Method::kSendSessionParameter, request, &sessionReply, deadline));
  reply->MergeFrom(sessionReply);
  return Status::OK;
}

}  // namespace compiler_gym::runtime
