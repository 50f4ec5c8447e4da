// The runtime's wrapper of a session.
#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"

namespace compiler_gym::runtime {

// A CompilationSession with the runtime's state about it. If an action, or the end of a step, fails
// without being refused, the state of the program is unknown: from then on, all methods that return
// a status fail with the same error.
class GuardedCompiler {
 public:
  // Takes over a session on which start() will call init(). `record` gets its activities.
  // `description` and `record` must live as long as this object.
  GuardedCompiler(std::unique_ptr<CompilationSession> session,
                  const ServiceDescription& description, WorkerRecord& record);

  // Starts the session on the benchmark and computes the first observations.
  grpc::Status start(const StartSessionRequest& request, StartSessionReply* reply);

  // See CompilationSession. False after an exception.
  bool forkable() const;
  bool holdsOnlyMemory() const;
  // See CompilationSession. After a failure, all further calls fail.
  void afterFork();

  // See CompilationSession. After an exception, all further calls fail.
  void afterReply();

  // Switches to another record, in a copy of the process.
  void setRecord(WorkerRecord& record) { record_ = &record; }

  // Computes the observations of the request, without making a step.
  grpc::Status observe(const StepRequest& request, StepReply* reply);

  // Makes the session save a reproducer of an action.
  grpc::Status saveReproducer(const Event& action, const boost::filesystem::path& directory);

  // Applies the actions in order up to the one that ends the episode, computes the observations,
  // and ends the step. INVALID_ARGUMENT if there are actions although the session has reported its
  // end. An observation that fails does not undo the step: its error is in the reply if the request
  // has_observation_errors, and otherwise returned.
  grpc::Status step(const StepRequest& request, StepReply* reply);

  // Hands each parameter to the session. INVALID_ARGUMENT if it does not know it; the parameters
  // before it stay set.
  grpc::Status setParameters(const SendSessionParameterRequest& request,
                             SendSessionParameterReply* reply);

 private:
  // Actions and observations, as requests and replies hold them.
  using Events = google::protobuf::RepeatedPtrField<Event>;

  grpc::Status checkUsable() const { return failure_.value_or(grpc::Status::OK); }
  grpc::Status applyActions(const Events& actions, std::optional<ActionSpace>& newActionSpace,
                            bool& hadNoEffect);
  grpc::Status applyAction(const Event& action, std::optional<ActionSpace>& newActionSpace,
                           bool& hadNoEffect);
  grpc::Status computeObservations(const RequestedSpaces& spaces, Events* observations);
  grpc::Status endStep(bool hadNoEffect, std::optional<ActionSpace>& newActionSpace);
  grpc::Status setParameter(const SessionParameter& parameter, SendSessionParameterReply* reply);
  // Returns `status`, after which the session is not usable unless it is a refusal.
  grpc::Status noteFailure(const grpc::Status& status);

  // Notes an activity for as long as it lives.
  class ScopedActivity;
  // Empty if actions have no names.
  std::string_view nameOf(const Event& action) const;

  const std::unique_ptr<CompilationSession> session_;
  const ServiceDescription& description_;
  WorkerRecord* record_;
  // Names of the actions, for the record; empty if actions have none.
  google::protobuf::RepeatedPtrField<std::string> actionNames_;
  // The name and the number of the last action that was applied.
  std::string lastAction_;
  int64_t lastNumber_ = -1;
  bool endOfEpisode_ = false;
  std::optional<grpc::Status> failure_;
};

}  // namespace compiler_gym::runtime
