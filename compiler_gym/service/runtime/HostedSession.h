// A session as the runtime holds it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/SessionRecord.h"

namespace compiler_gym::runtime {

// Actions and observations, as requests and replies hold them.
using Events = google::protobuf::RepeatedPtrField<Event>;
// The observation spaces that a request asks for, in its order, with its repetitions.
using RequestedSpaces = std::vector<const ObservationSpace*>;

// A CompilationSession with the lock that serialises its users, and with what the runtime must
// remember about it. Methods may be called from any number of threads; each holds the lock for its
// whole duration, and those that return a status fail with NOT_FOUND once the session was closed.
class HostedSession {
 public:
  // Handles a parameter that the session does not know; leaves the reply unset if it does not know
  // it either.
  using ParameterHandler = std::function<grpc::Status(
      const std::string& key, const std::string& value, std::optional<std::string>& reply)>;

  // Takes over a session on which init() has succeeded, or on which start() or fork() will call it.
  // What it does is noted in `record` if there is one.
  explicit HostedSession(std::unique_ptr<CompilationSession> session,
                         SessionRecord* record = nullptr);

  // Starts the session on a benchmark and computes the first observations.
  grpc::Status start(const ActionSpace& actionSpace, const Benchmark& benchmark,
                     const RequestedSpaces& spaces, Events* observations);

  // Makes `copy`, whose session is fresh and which nobody else knows yet, a copy of this session.
  grpc::Status fork(HostedSession* copy);

  // Notes from now on in another record: this process is a copy of the one that had the former.
  void setRecord(SessionRecord* record);

  // Computes observations as start() does.
  grpc::Status observe(const RequestedSpaces& spaces, Events* observations);

  // Has the session save what is needed to repeat an action elsewhere.
  grpc::Status saveReproducer(const Event& action, const boost::filesystem::path& directory);

  // Applies the actions in order up to the one that ends the episode, computes the observations,
  // and ends the step. INVALID_ARGUMENT if there are actions although the session has reported its
  // end.
  grpc::Status step(const Events& actions, const RequestedSpaces& spaces, StepReply* reply);

  // Hands each parameter to the session, then to `fallback`. INVALID_ARGUMENT if neither knows it;
  // the parameters before it stay set.
  grpc::Status setParameters(const SendSessionParameterRequest& request,
                             const ParameterHandler& fallback, SendSessionParameterReply* reply);

  // As of CompilationSession.
  bool holdsOnlyMemory();

  // Makes every later request fail. Does not wait for the one at work.
  void close() { closed_ = true; }

 private:
  // These expect the caller to hold mutex_.
  grpc::Status applyActions(const Events& actions, std::optional<ActionSpace>& newActionSpace,
                            bool& hadNoEffect);
  grpc::Status applyAction(const Event& action, std::optional<ActionSpace>& newActionSpace,
                           bool& hadNoEffect);
  grpc::Status computeObservations(const RequestedSpaces& spaces, Events* observations);
  grpc::Status setParameter(const SessionParameter& parameter, const ParameterHandler& fallback,
                            SendSessionParameterReply* reply);

  // Notes an activity for as long as it lives.
  class Note;
  // Empty if actions have no names.
  std::string_view nameOf(const Event& action) const;

  std::mutex mutex_;
  const std::unique_ptr<CompilationSession> session_;
  SessionRecord* record_;
  // Of the action space, for the record; empty if actions have none.
  google::protobuf::RepeatedPtrField<std::string> actionNames_;
  bool endOfEpisode_ = false;
  std::atomic<bool> closed_ = false;
};

}  // namespace compiler_gym::runtime
