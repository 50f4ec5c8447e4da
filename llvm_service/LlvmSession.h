#pragma once

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "llvm_service/Compilation.h"
#include "llvm_service/SessionSettings.h"
#include "llvm_service/actions/ActionSpaces.h"
#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

/// Compiles one program with LLVM. An action is one pass, given by its index in the action space.
class LlvmSession final : public CompilationSession {
 public:
  explicit LlvmSession(const boost::filesystem::path& workingDirectory);

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

  [[nodiscard]] grpc::Status handleSessionParameter(const std::string& key,
                                                    const std::string& value,
                                                    std::optional<std::string>& reply) final;

  /// Saves the program before the action, and a command for `opt`. See Reproducer.h.
  [[nodiscard]] grpc::Status saveReproducer(const Event& action,
                                            const boost::filesystem::path& directory) final;

  bool holdsOnlyMemory() const final;
  [[nodiscard]] grpc::Status afterFork() final;

 private:
  /// The cached value of an observation.
  struct Observed {
    /// The last value, if the observation is deterministic, and the version of the module or the
    /// number of the action that it belongs to.
    std::optional<std::pair<uint64_t, Event>> value;
    /// See ObservationInput.
    std::any kept;
  };

  [[nodiscard]] grpc::Status run(const Action& action, bool& changed);
  /// True if the module is verified after actions that changed it.
  bool isVerified(const Action& action) const;
  [[nodiscard]] grpc::Status applyBaseline(const std::string& value,
                                           std::optional<std::string>& reply);

  /// Starts on the program, retargeted if the session has a target.
  [[nodiscard]] grpc::Status start(std::shared_ptr<const Program> program);
  [[nodiscard]] grpc::Status setTargetTriple(const std::string& triple);

  const ActionList* actions_ = nullptr;
  std::unique_ptr<Compilation> compilation_;
  SessionSettings settings_;
  // The program as the benchmark has it, whatever the target.
  std::shared_ptr<const Program> program_;
  // Empty for the target that the program names.
  std::string targetTriple_;
  // By index of the observation.
  std::vector<Observed> observed_;
  // Actions left in the current step.
  int actionsLeft_ = 0;
};

}  // namespace compiler_gym::llvm_service
