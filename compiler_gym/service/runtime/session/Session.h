// A session as the runtime holds it.
#pragma once

#include <grpcpp/support/status.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"
#include "compiler_gym/service/runtime/wire/SessionRecord.h"

namespace compiler_gym::runtime {

// A CompilationSession with the lock that serialises its users, and with what the runtime must
// remember about it. Methods may be called from any number of threads; each holds the lock for its
// whole duration, and those that return a status fail with NOT_FOUND once the session was closed.
// When an action, or the end of a step, has failed other than by being refused, nobody knows what
// the program is now: from then on all of them fail with what that failed with.
class Session {
 public:
  // Takes over a session on which start() or fork() will call init(). What it does is noted in
  // `record` if there is one. `description` must live as long as this object.
  Session(std::unique_ptr<CompilationSession> session, const ServiceDescription& description,
          SessionRecord* record = nullptr);

  // Starts the session on a benchmark, which `request` need not hold, and computes the first
  // observations.
  grpc::Status start(const StartSessionRequest& request, const Benchmark& benchmark,
                     StartSessionReply* reply);

  // Makes `copy`, whose session is fresh and which nobody else knows yet, a copy of this session.
  grpc::Status fork(Session* copy);

  // As of CompilationSession.
  bool forkable();
  // As of CompilationSession. If it fails, so does whatever follows.
  void afterFork();

  // Notes from now on in another record: this process is a copy of the one that had the former.
  void setRecord(SessionRecord* record);

  // Computes the observations of the request, without making a step.
  grpc::Status observe(const StepRequest& request, StepReply* reply);

  // Has the session save what is needed to repeat an action elsewhere.
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

  // As of CompilationSession.
  bool holdsOnlyMemory();

  // Makes every later request fail. Does not wait for the one at work.
  void close() { closed_ = true; }

 private:
  // Actions and observations, as requests and replies hold them.
  using Events = google::protobuf::RepeatedPtrField<Event>;

  // These expect the caller to hold mutex_.
  grpc::Status checkUsable() const;
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
  class Note;
  // Empty if actions have no names.
  std::string_view nameOf(const Event& action) const;

  std::mutex mutex_;
  const std::unique_ptr<CompilationSession> session_;
  const ServiceDescription& description_;
  SessionRecord* record_;
  // Of the action space, for the record; empty if actions have none.
  google::protobuf::RepeatedPtrField<std::string> actionNames_;
  bool endOfEpisode_ = false;
  std::optional<grpc::Status> failure_;
  std::atomic<bool> closed_ = false;
};

}  // namespace compiler_gym::runtime
