// The interface that a compiler implements to become a CompilerGym service.
#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym {

// One program under compilation. Subclass it, implement the pure methods, and pass the class to
// runtime::createAndRunCompilerGymService() to obtain a service.
//
// Life of a session:
//   1. It is constructed. A service also constructs sessions just for their compiler version and
//      spaces, so the constructor should be cheap.
//   2. init() is called once, with a benchmark.
//   3. Any number of steps: beginStep(), applyAction() for each action, computeObservation() for
//      each observation, then endOfStep().
//   4. It is destroyed, unless its process is killed or crashes.
//
// Processes: a service gives each session a process of its own, and copies sessions by copying
// processes, as fork(2) does. A client's fork is such a copy. Sessions also start as copies:
// init(benchmark) is called in one process for each program, and the sessions on that program are
// copies of it. So one object may live on in many processes:
//   - A copy has all memory of its original as it was, and the same open files: with the position
//     in a file and what arrives at a socket the two share.
//   - A copy has none of the original's timers, file locks and child processes.
//   - Paths in memory lead to the same files and directories as those of the original.
//   - afterFork() is called in the copy before any other method. There it makes a directory, a
//     child or a connection of its own in place of the original's.
//   - Each process destroys its own object. Whatever the destructor gives back must be its own:
//     what was made by init() in the process in which init() ran, what afterFork() has made in a
//     copy.
//   - A session that a copy of the process would break says so by forkable(). It is then started
//     in a new process for each client, and copied by repeating what was done with it: parameters
//     and actions, step by step.
//   - So is, whatever it says, a session whose process has other threads after a request: a copy
//     would lack them, and whatever locks they hold would be held in it for ever. One that is to be
//     copied as a process ends its threads with the request that needs them.
//   - Handlers of pthread_atfork() are not called; what the C library itself knows of the process
//     (the ids of process and thread, robust mutexes) is that of the copy.
// With --foreground there is one session at a time, in the process that was started: for debuggers,
// see docs/contributing/debugging.md.
//
// Plugins and statics: what is loaded or made before the first session is made is so in the process
// that all others are copied from. It must have no threads, because no copy would have them, and
// nothing that has to be given back once for each process.
//
// Commands that a session runs by util::LocalShellCommand end with its process, however that ends.
// What such a process has left in the working directory under a name that ends with a dot and its
// pid, e.g. "build-1234.567", is removed then. Other children do not end with a process that
// crashes, unless they ask for it (PR_SET_PDEATHSIG).
//
// Threads: the runtime calls one method of a session at a time, and always from the same thread.
// What sessions share, such as files in the working directory, needs care.
//
// Errors: return a status with one of the codes that the protocol lists, and a text that tells the
// user what was wrong and what to do. An exception that leaves a method becomes INTERNAL with the
// exception's text, std::bad_alloc RESOURCE_EXHAUSTED; the service lives on.
class CompilationSession {
 public:
  // `workingDirectory` exists, belongs to the service, and is shared by all of its sessions. It may
  // be on a RAM disk, from which programs cannot always be executed.
  explicit CompilationSession(const boost::filesystem::path& workingDirectory);
  virtual ~CompilationSession() = default;

  CompilationSession(const CompilationSession&) = delete;
  CompilationSession& operator=(const CompilationSession&) = delete;

  // The version of the compiler, in free form. Empty by default. Works before init().
  virtual std::string getCompilerVersion() const;

  // The action spaces to choose from; a client selects one by its index. Works before init(), and
  // gives the same list every time.
  virtual std::vector<ActionSpace> getActionSpaces() const = 0;

  // The observation spaces; clients refer to them by index. Works before init(), and gives the same
  // list every time.
  virtual std::vector<ObservationSpace> getObservationSpaces() const = 0;

  // Starts on a program. `actionSpace` is an element of getActionSpaces(). Both arguments are valid
  // only during the call. INVALID_ARGUMENT if the program is not one.
  [[nodiscard]] virtual grpc::Status init(const ActionSpace& actionSpace,
                                          const Benchmark& benchmark) = 0;

  // Starts as a copy of `other`, a session of the same class in the same process. The runtime does
  // not call it, because it copies processes: it is here for session classes that were written for
  // CompilerGym 0.2.5. UNIMPLEMENTED by default.
  [[nodiscard]] virtual grpc::Status init(CompilationSession* other);

  // True if a copy of the process is a copy of the session, see above. Called after each request.
  // Until the next request, any number of copies may be made. True by default.
  virtual bool forkable() const;

  // Called on the object in a process that was just copied, and nowhere else. It must not touch
  // resources of the original. If it fails, every request to the copy fails with this error. Does
  // nothing by default.
  [[nodiscard]] virtual grpc::Status afterFork();

  // Called before the actions of a step, with their number. A session may then delay work that only
  // concerns the whole step until the last action: `actionHadNoEffect` of the others may be true if
  // the last one accounts for them, too. A step has fewer actions if one fails. Does nothing by
  // default.
  virtual void beginStep(int actions);

  // Applies one action. The outputs hold their defaults on entry: `endOfEpisode` false,
  // `newActionSpace` unset, `actionHadNoEffect` false. Set
  //   endOfEpisode       when no further action can follow;
  //   newActionSpace     when the actions that can follow have changed;
  //   actionHadNoEffect  when the action changed nothing, so that every deterministic observation
  //                      keeps its value. When in doubt leave it false.
  // A refused action must leave the program unchanged: INVALID_ARGUMENT if it is not in the action
  // space, or NOT_FOUND, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED. After any other error,
  // or an exception, the state of the program is unknown, and the runtime fails every later request
  // with the same error.
  [[nodiscard]] virtual grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                                 std::optional<ActionSpace>& newActionSpace,
                                                 bool& actionHadNoEffect) = 0;

  // Computes one observation into `observation`, which is empty on entry. `observationSpace` is an
  // element of getObservationSpaces(). It must not affect later actions. If it fails, the session
  // continues.
  [[nodiscard]] virtual grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                        Event& observation) = 0;

  // Called once at the end of each step, after its observations, e.g. to check the program.
  // `actionHadNoEffect` is the value for the whole step that the client will get (true if there was
  // no action). On entry `endOfEpisode` and `newActionSpace` hold the values that the actions
  // reported; both may be changed. An error fails the step and, unless it is one of those for
  // refused actions, every later request. Does nothing by default.
  [[nodiscard]] virtual grpc::Status endOfStep(bool actionHadNoEffect, bool& endOfEpisode,
                                               std::optional<ActionSpace>& newActionSpace);

  // Called when a reply has been sent and the next request has not been read. For work that the
  // next request may need, but the last one did not. It must not change what any request returns.
  // Does nothing by default.
  virtual void afterReply();

  // Handles a parameter that a client sends. Set `reply` if this class knows the key; otherwise
  // leave it unset, and the runtime tries its own parameters. INVALID_ARGUMENT if the key is known
  // but the value is malformed; DATA_LOSS if the parameter has broken the program. After an
  // exception or an error that is no refusal, as of applyAction(), the runtime fails every later
  // request with it. A key whose last part begins with "get_", e.g. "llvm.get_target_triple",
  // changes nothing: it is not repeated where the session is copied by repeating what was done with
  // it. Knows no key by default.
  [[nodiscard]] virtual grpc::Status handleSessionParameter(const std::string& key,
                                                            const std::string& value,
                                                            std::optional<std::string>& reply);

  // Saves files to `directory`, which exists, that reproduce `action` on the current program
  // outside of this service, for a report to the authors of the compiler. The runtime calls it on a
  // copy of a session that the action crashed. UNIMPLEMENTED by default.
  [[nodiscard]] virtual grpc::Status saveReproducer(const Event& action,
                                                    const boost::filesystem::path& directory);

  // True if this object holds only memory, so that its process can end without destroying it, which
  // may be slow. False by default.
  virtual bool holdsOnlyMemory() const;

 protected:
  const boost::filesystem::path& workingDirectory() const { return workingDirectory_; }

 private:
  const boost::filesystem::path workingDirectory_;
};

}  // namespace compiler_gym
