#include "compiler_gym/service/runtime/HostedSession.h"

#include <unordered_map>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::callWithoutExceptions;

namespace {

Status closedWhileWaiting() {
  return Status(StatusCode::NOT_FOUND,
                "Session not found: it was ended while this request waited for it");
}

}  // namespace

HostedSession::HostedSession(std::unique_ptr<CompilationSession> session)
    : session_(std::move(session)) {}

Status HostedSession::start(const ActionSpace& actionSpace, const Benchmark& benchmark,
                            const RequestedSpaces& spaces, Events* observations) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(
      callWithoutExceptions("init", [&] { return session_->init(actionSpace, benchmark); }));
  return observe(spaces, observations);
}

Status HostedSession::fork(HostedSession* copy) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closedWhileWaiting();
  RETURN_IF_ERROR(
      callWithoutExceptions("init", [&] { return copy->session_->init(session_.get()); }));
  copy->endOfEpisode_ = endOfEpisode_;
  return Status::OK;
}

Status HostedSession::step(const Events& actions, const RequestedSpaces& spaces, StepReply* reply) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closedWhileWaiting();

  bool hadNoEffect = true;
  std::optional<ActionSpace> newActionSpace;
  RETURN_IF_ERROR(applyActions(actions, newActionSpace, hadNoEffect));
  RETURN_IF_ERROR(observe(spaces, reply->mutable_observation()));

  bool endOfEpisode = endOfEpisode_;
  RETURN_IF_ERROR(callWithoutExceptions(
      "endOfStep", [&] { return session_->endOfStep(hadNoEffect, endOfEpisode, newActionSpace); }));
  endOfEpisode_ = endOfEpisode;

  reply->set_end_of_session(endOfEpisode_);
  reply->set_action_had_no_effect(hadNoEffect);
  if (newActionSpace) *reply->mutable_new_action_space() = *std::move(newActionSpace);
  return Status::OK;
}

Status HostedSession::applyActions(const Events& actions,
                                   std::optional<ActionSpace>& newActionSpace, bool& hadNoEffect) {
  if (endOfEpisode_ && !actions.empty()) {
    return Status(StatusCode::INVALID_ARGUMENT,
                  "The session has reached its end and accepts no further action, only requests "
                  "for observations. Start a new session to go on");
  }
  for (const Event& action : actions) {
    bool actionHadNoEffect = false;
    std::optional<ActionSpace> actionSpace;
    RETURN_IF_ERROR(callWithoutExceptions("applyAction", [&] {
      return session_->applyAction(action, endOfEpisode_, actionSpace, actionHadNoEffect);
    }));
    hadNoEffect &= actionHadNoEffect;
    if (actionSpace) newActionSpace = std::move(actionSpace);
    if (endOfEpisode_) break;
  }
  return Status::OK;
}

Status HostedSession::observe(const RequestedSpaces& spaces, Events* observations) {
  // A space that was requested more than once is computed once.
  std::unordered_map<const ObservationSpace*, int> computed;
  observations->Reserve(static_cast<int>(spaces.size()));
  for (const ObservationSpace* space : spaces) {
    const auto [previous, isNew] = computed.emplace(space, observations->size());
    if (!isNew) {
      *observations->Add() = observations->Get(previous->second);
      continue;
    }
    const auto where = [space] { return "computeObservation of " + space->name(); };
    RETURN_IF_ERROR(callWithoutExceptions(
        where, [&] { return session_->computeObservation(*space, *observations->Add()); }));
  }
  return Status::OK;
}

Status HostedSession::setParameters(const SendSessionParameterRequest& request,
                                    const ParameterHandler& fallback,
                                    SendSessionParameterReply* reply) {
  const std::lock_guard lock(mutex_);
  if (closed_) return closedWhileWaiting();
  for (const SessionParameter& parameter : request.parameter()) {
    RETURN_IF_ERROR(setParameter(parameter, fallback, reply));
  }
  return Status::OK;
}

Status HostedSession::setParameter(const SessionParameter& parameter,
                                   const ParameterHandler& fallback,
                                   SendSessionParameterReply* reply) {
  std::optional<std::string> text;
  RETURN_IF_ERROR(callWithoutExceptions("handleSessionParameter", [&] {
    return session_->handleSessionParameter(parameter.key(), parameter.value(), text);
  }));
  if (!text) RETURN_IF_ERROR(fallback(parameter.key(), parameter.value(), text));
  if (!text) {
    return Status(StatusCode::INVALID_ARGUMENT,
                  "Unknown session parameter \"" + parameter.key() +
                      "\": check its spelling, and that this compiler supports it");
  }
  reply->add_reply(*std::move(text));
  return Status::OK;
}

}  // namespace compiler_gym::runtime
