#include "compiler_gym/service/runtime/worker/GuardedCompiler.h"

#include <unordered_map>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::callWithoutExceptions;

namespace {

// True if an action or a parameter was rejected without any effect.
bool isRefusal(const Status& status) {
  switch (status.error_code()) {
    case StatusCode::INVALID_ARGUMENT:
    case StatusCode::UNIMPLEMENTED:
    case StatusCode::NOT_FOUND:
    case StatusCode::FAILED_PRECONDITION:
    case StatusCode::OUT_OF_RANGE:
      return true;
    default:
      return false;
  }
}

// True if a parameter is only a query, e.g. "llvm.get_target_triple".
bool isQuestion(const std::string& key) {
  const size_t dot = key.rfind('.');
  return key.compare(dot == std::string::npos ? 0 : dot + 1, 4, "get_") == 0;
}

// Calls a predicate of a session. False if it throws.
template <typename Predicate>
bool holds(const char* name, const Predicate& predicate) {
  bool value = false;
  const Status status = callWithoutExceptions(name, [&] {
    value = predicate();
    return Status::OK;
  });
  return status.ok() && value;
}

int64_t numberOf(const Event& action) {
  return action.has_int64_value() ? action.int64_value() : -1;
}

google::protobuf::RepeatedPtrField<std::string> actionNames(const ActionSpace& actionSpace) {
  const Space& space = actionSpace.space();
  if (space.has_named_discrete()) return space.named_discrete().name();
  CommandlineSpace commandline;
  if (space.has_any_value()) space.any_value().UnpackTo(&commandline);
  return commandline.name();
}

}  // namespace

class GuardedCompiler::ScopedActivity {
 public:
  ScopedActivity(WorkerRecord* record, Activity activity, std::string_view subject = {},
                 int64_t number = -1)
      : record_(record) {
    record_->begin(activity, subject, number);
  }
  ~ScopedActivity() { record_->end(); }
  ScopedActivity(const ScopedActivity&) = delete;
  ScopedActivity& operator=(const ScopedActivity&) = delete;

 private:
  WorkerRecord* const record_;
};

GuardedCompiler::GuardedCompiler(std::unique_ptr<CompilationSession> session,
                                 const ServiceDescription& description, WorkerRecord& record)
    : session_(std::move(session)), description_(description), record_(&record) {}

std::string_view GuardedCompiler::nameOf(const Event& action) const {
  const int64_t index = numberOf(action);
  return index >= 0 && index < actionNames_.size() ? actionNames_[static_cast<int>(index)]
                                                   : std::string_view();
}

Status GuardedCompiler::noteFailure(const Status& status) {
  if (status.ok() || isRefusal(status)) return status;
  failure_ = Status(status.error_code(), "The session cannot continue after an earlier failure: " +
                                             status.error_message());
  return status;
}

Status GuardedCompiler::start(const StartSessionRequest& request, StartSessionReply* reply) {
  const ActionSpace* actionSpace = nullptr;
  RETURN_IF_ERROR(description_.findActionSpace(request.action_space(), &actionSpace));
  RequestedSpaces spaces;
  RETURN_IF_ERROR(description_.findObservationSpaces(request.observation_space(), &spaces));
  actionNames_ = actionNames(*actionSpace);
  {
    const ScopedActivity activity(record_, Activity::kStarting);
    RETURN_IF_ERROR(callWithoutExceptions(
        "init", [&] { return session_->init(*actionSpace, request.benchmark()); }));
  }
  return computeObservations(spaces, reply->mutable_observation());
}

Status GuardedCompiler::observe(const StepRequest& request, StepReply* reply) {
  RETURN_IF_ERROR(checkUsable());
  RequestedSpaces spaces;
  RETURN_IF_ERROR(description_.findObservationSpaces(request.observation_space(), &spaces));
  return computeObservations(spaces, reply->mutable_observation());
}

bool GuardedCompiler::forkable() const {
  return holds("forkable", [this] { return session_->forkable(); });
}

bool GuardedCompiler::holdsOnlyMemory() const {
  return holds("holdsOnlyMemory", [this] { return session_->holdsOnlyMemory(); });
}

void GuardedCompiler::afterFork() {
  const ScopedActivity activity(record_, Activity::kForking);
  const Status status = callWithoutExceptions("afterFork", [&] { return session_->afterFork(); });
  if (status.ok()) return;
  failure_ = Status(status.error_code(),
                    "The copy of the session could not be set up: " + status.error_message());
}

void GuardedCompiler::afterReply() {
  const ScopedActivity activity(record_, Activity::kCatchingUp, lastAction_, lastNumber_);
  const Status status = callWithoutExceptions("afterReply", [&] {
    session_->afterReply();
    return Status::OK;
  });
  static_cast<void>(noteFailure(status));
}

Status GuardedCompiler::saveReproducer(const Event& action,
                                       const boost::filesystem::path& directory) {
  return callWithoutExceptions("saveReproducer",
                               [&] { return session_->saveReproducer(action, directory); });
}

Status GuardedCompiler::step(const StepRequest& request, StepReply* reply) {
  RETURN_IF_ERROR(checkUsable());
  RequestedSpaces spaces;
  RETURN_IF_ERROR(description_.findObservationSpaces(request.observation_space(), &spaces));

  record_->beginStep();
  bool hadNoEffect = true;
  std::optional<ActionSpace> newActionSpace;
  RETURN_IF_ERROR(applyActions(request.action(), newActionSpace, hadNoEffect));
  const Status observed = computeObservations(spaces, reply->mutable_observation());
  RETURN_IF_ERROR(endStep(hadNoEffect, newActionSpace));
  if (!observed.ok()) {
    if (!request.has_observation_errors()) return observed;
    reply->clear_observation();
    reply->mutable_observation_error()->set_code(observed.error_code());
    reply->mutable_observation_error()->set_message(observed.error_message());
  }

  reply->set_end_of_session(endOfEpisode_);
  reply->set_action_had_no_effect(hadNoEffect);
  if (newActionSpace) {
    actionNames_ = actionNames(*newActionSpace);
    *reply->mutable_new_action_space() = *std::move(newActionSpace);
  }
  return Status::OK;
}

Status GuardedCompiler::endStep(bool hadNoEffect, std::optional<ActionSpace>& newActionSpace) {
  const ScopedActivity activity(record_, Activity::kEndingStep);
  bool endOfEpisode = endOfEpisode_;
  RETURN_IF_ERROR(noteFailure(callWithoutExceptions("endOfStep", [&] {
    return session_->endOfStep(hadNoEffect, endOfEpisode, newActionSpace);
  })));
  endOfEpisode_ = endOfEpisode;
  return Status::OK;
}

Status GuardedCompiler::applyActions(const Events& actions,
                                     std::optional<ActionSpace>& newActionSpace,
                                     bool& hadNoEffect) {
  if (endOfEpisode_ && !actions.empty()) {
    return Status(StatusCode::INVALID_ARGUMENT,
                  "The session has reached its end and accepts no further action, only requests "
                  "for observations. Start a new session to go on");
  }
  RETURN_IF_ERROR(noteFailure(callWithoutExceptions("beginStep", [&] {
    session_->beginStep(actions.size());
    return Status::OK;
  })));
  for (const Event& action : actions) {
    RETURN_IF_ERROR(applyAction(action, newActionSpace, hadNoEffect));
    if (endOfEpisode_) break;
  }
  return Status::OK;
}

Status GuardedCompiler::applyAction(const Event& action, std::optional<ActionSpace>& newActionSpace,
                                    bool& hadNoEffect) {
  bool actionHadNoEffect = false;
  std::optional<ActionSpace> actionSpace;
  record_->addToHistory(/*isAction=*/true, action);
  Status status;
  {
    const ScopedActivity activity(record_, Activity::kActing, nameOf(action), numberOf(action));
    status = callWithoutExceptions("applyAction", [&] {
      return session_->applyAction(action, endOfEpisode_, actionSpace, actionHadNoEffect);
    });
  }
  if (!status.ok()) {
    record_->dropFromHistory();
    return noteFailure(status);
  }
  lastAction_ = nameOf(action);
  lastNumber_ = numberOf(action);
  hadNoEffect &= actionHadNoEffect;
  if (actionSpace) newActionSpace = std::move(actionSpace);
  return Status::OK;
}

Status GuardedCompiler::computeObservations(const RequestedSpaces& spaces, Events* observations) {
  // Computes a space once, even if the request names it repeatedly.
  std::unordered_map<const ObservationSpace*, int> computed;
  observations->Reserve(static_cast<int>(spaces.size()));
  for (const ObservationSpace* space : spaces) {
    const auto [previous, isNew] = computed.emplace(space, observations->size());
    if (!isNew) {
      *observations->Add() = observations->Get(previous->second);
      continue;
    }
    const ScopedActivity activity(record_, Activity::kObserving, space->name());
    const auto where = [space] { return "computeObservation of " + space->name(); };
    RETURN_IF_ERROR(callWithoutExceptions(
        where, [&] { return session_->computeObservation(*space, *observations->Add()); }));
  }
  return Status::OK;
}

Status GuardedCompiler::setParameters(const SendSessionParameterRequest& request,
                                      SendSessionParameterReply* reply) {
  RETURN_IF_ERROR(checkUsable());
  for (const SessionParameter& parameter : request.parameter()) {
    RETURN_IF_ERROR(setParameter(parameter, reply));
  }
  return Status::OK;
}

Status GuardedCompiler::setParameter(const SessionParameter& parameter,
                                     SendSessionParameterReply* reply) {
  std::optional<std::string> text;
  const ScopedActivity activity(record_, Activity::kSettingParameter, parameter.key());
  RETURN_IF_ERROR(noteFailure(callWithoutExceptions("handleSessionParameter", [&] {
    return session_->handleSessionParameter(parameter.key(), parameter.value(), text);
  })));
  if (text && !isQuestion(parameter.key())) record_->addToHistory(/*isAction=*/false, parameter);
  if (!text) {
    return Status(StatusCode::INVALID_ARGUMENT,
                  "Unknown session parameter \"" + parameter.key() +
                      "\": check its spelling, and that this compiler supports it");
  }
  reply->add_reply(*std::move(text));
  return Status::OK;
}

}  // namespace compiler_gym::runtime
