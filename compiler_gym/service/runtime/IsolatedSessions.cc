#include "compiler_gym/service/runtime/IsolatedSessions.h"

#include <glog/logging.h>

#include <optional>
#include <utility>

#include "compiler_gym/service/runtime/BuiltinParameters.h"
#include "compiler_gym/service/runtime/Requests.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

IsolatedSessions::IsolatedSessions(ForkServer& forkServer,
                                   const boost::filesystem::path& workingDirectory,
                                   const IsolationLimits& limits)
    : forkServer_(forkServer),
      limits_(limits),
      spares_(chores_, limits.maxSpares),
      pristine_(forkServer, spares_, limits.pristineBytes),
      reproducers_(pristine_, workingDirectory, limits.maxReproducers) {}

Status IsolatedSessions::checkSessionCount() const {
  if (sessionCount() < limits_.maxSessions) return Status::OK;
  return Status(StatusCode::RESOURCE_EXHAUSTED,
                "The limit of " + std::to_string(limits_.maxSessions) +
                    " sessions is reached (--max_sessions of the service changes it): end one "
                    "first");
}

uint64_t IsolatedSessions::add(const std::shared_ptr<IsolatedSession>& session,
                               Handover* handover) {
  if (handover) handover->client = session->process->takeClientSocket();
  return sessions_.add(session);
}

Status IsolatedSessions::startSession(const StartSessionRequest& request, StartSessionReply* reply,
                                      Deadline deadline, Handover* handover) {
  VLOG(2) << "StartSession(" << request.benchmark().uri() << ")";
  RETURN_IF_ERROR(checkSessionCount());
  std::shared_ptr<const Benchmark> benchmark;
  RETURN_IF_ERROR(findOrAddBenchmark(request.benchmark(), benchmarks_, &benchmark));
  const ActionSpace* actionSpace = nullptr;
  RETURN_IF_ERROR(description().findActionSpace(request.action_space(), &actionSpace));
  RequestedSpaces spaces;
  RETURN_IF_ERROR(description().findObservationSpaces(request.observation_space(), &spaces));

  std::shared_ptr<SessionProcess> process;
  RETURN_IF_ERROR(pristine_.start(benchmark, request.action_space(), deadline, &process));
  if (!spaces.empty()) {
    StepRequest observe;
    *observe.mutable_observation_space() = request.observation_space();
    StepReply observed;
    RETURN_IF_ERROR(process->call(Method::kObserve, observe, &observed, deadline));
    *reply->mutable_observation() = std::move(*observed.mutable_observation());
  }
  const auto session =
      std::make_shared<IsolatedSession>(std::move(process), benchmark, request.action_space());
  const uint64_t id = add(session, handover);
  reply->set_session_id(id);
  VLOG(1) << "Session " << id << " started on " << benchmark->uri() << "; " << sessionCount()
          << " open";
  return Status::OK;
}

Status IsolatedSessions::forkSession(const ForkSessionRequest& request, ForkSessionReply* reply,
                                     Deadline deadline, Handover* handover) {
  VLOG(2) << "ForkSession(" << request.session_id() << ")";
  RETURN_IF_ERROR(checkSessionCount());
  std::shared_ptr<IsolatedSession> original;
  RETURN_IF_ERROR(sessions_.find(request.session_id(), &original));
  std::shared_ptr<SessionProcess> process;
  std::unique_ptr<SessionProcess::CopyOrder> order;
  const Status forked =
      spares_.copy(original->process, deadline, &process, handover ? &handover->order : &order);
  if (!forked.ok()) return explain(original, forked, deadline);
  const auto copy = std::make_shared<IsolatedSession>(std::move(process), original->benchmark,
                                                      original->actionSpace);
  const uint64_t id = add(copy, handover);
  reply->set_session_id(id);
  VLOG(1) << "Session " << id << " forked from " << request.session_id() << "; " << sessionCount()
          << " open";
  return Status::OK;
}

Status IsolatedSessions::endSession(const EndSessionRequest& request, EndSessionReply* reply) {
  VLOG(2) << "EndSession(" << request.session_id() << ")";
  std::shared_ptr<IsolatedSession> ended;
  size_t remaining = 0;
  RETURN_IF_ERROR(sessions_.remove(request.session_id(), &ended, &remaining));
  chores_.add([ended = std::move(ended)]() mutable { ended.reset(); });
  reply->set_remaining_sessions(static_cast<int32_t>(remaining));
  VLOG(1) << "Session " << request.session_id() << " ended; " << remaining << " open";
  return Status::OK;
}

Status IsolatedSessions::call(const std::shared_ptr<IsolatedSession>& session, Method method,
                              const google::protobuf::MessageLite& request,
                              google::protobuf::MessageLite* reply, Deadline deadline) {
  const Status status = session->process->call(method, request, reply, deadline);
  return status.ok() ? status : explain(session, status, deadline);
}

Status IsolatedSessions::explain(const std::shared_ptr<IsolatedSession>& session,
                                 const Status& status, Deadline deadline) {
  SessionProcess& process = *session->process;
  if (!process.isDead()) return status;
  std::call_once(session->reproducerOnce, [&] {
    if (!process.hasDiedInAction()) return;
    // If there was a time limit, it is over.
    const bool isLate = process.record().endReason() == EndReason::kDeadline;
    process.appendToEpitaph(reproducers_.save(session, isLate ? Clock::now() : deadline));
    LOG(WARNING) << process.epitaph().error_message();
  });
  return process.epitaph();
}

Status IsolatedSessions::step(const StepRequest& request, StepReply* reply, Deadline deadline) {
  VLOG(2) << "Step(" << request.session_id() << "), " << request.action_size() << " actions, "
          << request.observation_space_size() << " observations";
  std::shared_ptr<IsolatedSession> session;
  RETURN_IF_ERROR(sessions_.find(request.session_id(), &session));
  return call(session, Method::kStep, request, reply, deadline);
}

Status IsolatedSessions::addBenchmark(const AddBenchmarkRequest& request) {
  VLOG(2) << "AddBenchmark(), " << request.benchmark_size() << " benchmarks";
  return addBenchmarks(request, benchmarks_);
}

Status IsolatedSessions::sendSessionParameter(const SendSessionParameterRequest& request,
                                              SendSessionParameterReply* reply, Deadline deadline) {
  VLOG(2) << "SendSessionParameter(" << request.session_id() << "), " << request.parameter_size()
          << " parameters";
  std::shared_ptr<IsolatedSession> session;
  RETURN_IF_ERROR(sessions_.find(request.session_id(), &session));
  for (const SessionParameter& parameter : request.parameter()) {
    RETURN_IF_ERROR(setParameter(session, parameter, reply, deadline));
  }
  return Status::OK;
}

Status IsolatedSessions::setParameter(const std::shared_ptr<IsolatedSession>& session,
                                      const SessionParameter& parameter,
                                      SendSessionParameterReply* reply, Deadline deadline) {
  std::optional<std::string> builtinReply;
  RETURN_IF_ERROR(handleSizeParameters(kBenchmarkCacheParameters, parameter.key(),
                                       parameter.value(), benchmarks_, builtinReply));
  RETURN_IF_ERROR(handleSizeParameters(kPristinePoolParameters, parameter.key(), parameter.value(),
                                       pristine_, builtinReply));
  if (builtinReply) {
    reply->add_reply(*std::move(builtinReply));
    return Status::OK;
  }
  SendSessionParameterRequest request;
  *request.add_parameter() = parameter;
  SendSessionParameterReply sessionReply;
  RETURN_IF_ERROR(call(session, Method::kSendSessionParameter, request, &sessionReply, deadline));
  reply->MergeFrom(sessionReply);
  return Status::OK;
}

}  // namespace compiler_gym::runtime
