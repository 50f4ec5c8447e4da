#pragma once

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "llvm_service/games/Games.h"

namespace compiler_gym::llvm_service {

/// Compiles one program with LLVM. An action is the index of one of the actions of a game.
class LlvmSession final : public CompilationSession {
 public:
  explicit LlvmSession(const boost::filesystem::path& workingDirectory,
                       const GameRules& rules = passGame());

  /// The version of LLVM and its default target, e.g. "22.1.8 x86_64-pc-linux-gnu".
  std::string getCompilerVersion() const final;

  std::vector<ActionSpace> getActionSpaces() const final;
  std::vector<ObservationSpace> getObservationSpaces() const final;

  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace, const Benchmark& benchmark) final;

  void beginStep(int actions) final { actionsLeft_ = actions; }

  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) final;

  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) final;

  /// Knows llvm.{set,get}_target_triple, those of LlvmSettings, and those of the game.
  [[nodiscard]] grpc::Status handleSessionParameter(const std::string& key,
                                                    const std::string& value,
                                                    std::optional<std::string>& reply) final;

  [[nodiscard]] grpc::Status saveReproducer(const Event& action,
                                            const boost::filesystem::path& directory) final;

  bool holdsOnlyMemory() const final;
  void afterReply() final;
  [[nodiscard]] grpc::Status afterFork() final;

 private:
  /// The cached value of an observation.
  struct Observed {
    /// The last value, if the observation is deterministic, and the version that it belongs to.
    std::optional<std::pair<uint64_t, Event>> value;
    /// See ObservationInput.
    std::any kept;
  };

  /// Starts the game on the program, retargeted unless the triple is empty.
  [[nodiscard]] grpc::Status start(const std::string& triple);
  [[nodiscard]] grpc::Status setTargetTriple(const std::string& triple);

  const GameRules& rules_;
  const ActionList* actions_ = nullptr;
  LlvmSettings settings_;
  // The program as the benchmark has it, whatever the target.
  std::shared_ptr<const Program> program_;
  // Empty for the target that the program names.
  std::string targetTriple_;
  std::unique_ptr<Game> game_;
  bool hasActed_ = false;
  // By index of the observation.
  std::vector<Observed> observed_;
  // Actions left in the current step.
  int actionsLeft_ = 0;
};

}  // namespace compiler_gym::llvm_service
