// A compiler that is not one, for testing the runtime and its clients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"

namespace compiler_gym::toy {

// Edits text. The program of a benchmark is the text, in its contents or in a file; the text
// "unacceptable" is refused with INVALID_ARGUMENT and "enormous" with RESOURCE_EXHAUSTED,
// "explosive" throws, and "deadly" aborts.
//
// Action space 0, "Edit": named actions, see editNames(). Action space 1, "Append": a string of 1
// to 16 bytes to append.
//
// Session parameters (the value of a get is ignored):
//   toy.set_sleep_milliseconds, toy.get_sleep_milliseconds  duration of the action "sleep"
//   toy.get_observed                                        how often observations were computed
//   toy.get_replies                                         calls of afterReply() so far
//   toy.throw                                               throws its value
class ToySession final : public CompilationSession {
 public:
  using CompilationSession::CompilationSession;

  // Names of the edit actions, in the order of their numbers:
  //   uppercase, reverse, rotate (first character to the end), append-a, no-op
  //   end       ends the episode
  //   end-later ends the episode in endOfStep()
  //   fail      returns DATA_LOSS
  //   throw     throws
  //   restrict  leaves only the first five actions
  //   sleep     takes some time, or until the working directory has a file "released"; with a
  //             file "asleep" there from then on
  //   hang      never returns; likewise
  //   run       runs a command that does not end within this test, with its process id in the file
  //             command.pid of the working directory
  //   corrupt   makes endOfStep() fail
  //   crash     writes to address 0
  //   abort     prints "toy: giving up" and aborts
  //   exit      exits with code 3
  //   loop      never returns and never sleeps; with a file "asleep" likewise
  //   allocate  allocates memory without end
  //   corrupt-heap  overwrites what the allocator needs, then uses it
  //   chatter   prints a megabyte
  //   crash-later  makes a directory and crashes after the reply
  static const std::vector<std::string>& editNames();

  std::string getCompilerVersion() const override { return "toy 1.0"; }
  std::vector<ActionSpace> getActionSpaces() const override;
  // "text" string, "length" int64, "histogram" int64[26] of the letters a to z, "bytes" byte
  // sequence, "ratios" double sequence (share of each distinct character, in order of character),
  // "counter" int64 (calls so far: not deterministic), "failing" (always an error), "throwing",
  // "end-of-steps" int64 (calls of endOfStep() so far).
  std::vector<ObservationSpace> getObservationSpaces() const override;

  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace,
                                  const Benchmark& benchmark) override;
  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) override;
  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) override;
  [[nodiscard]] grpc::Status endOfStep(bool actionHadNoEffect, bool& endOfEpisode,
                                       std::optional<ActionSpace>& newActionSpace) override;
  void afterReply() override;
  [[nodiscard]] grpc::Status handleSessionParameter(const std::string& key,
                                                    const std::string& value,
                                                    std::optional<std::string>& reply) override;
  // Writes the text to the file "text" and the number of the action to "action".
  [[nodiscard]] grpc::Status saveReproducer(const Event& action,
                                            const boost::filesystem::path& directory) override;

 private:
  grpc::Status edit(const std::string& name, bool& endOfEpisode,
                    std::optional<ActionSpace>& newActionSpace);

  std::string actionSpaceName_;
  size_t actionCount_ = 0;
  std::string text_;
  int64_t sleepMilliseconds_ = 50;
  int64_t counter_ = 0;
  int64_t observed_ = 0;
  int64_t endOfSteps_ = 0;
  int64_t replies_ = 0;
  bool endLater_ = false;
  bool corrupt_ = false;
  bool crashLater_ = false;
};

}  // namespace compiler_gym::toy
