#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "llvm_service/SessionSettings.h"
#include "llvm_service/inlining/InlineActions.h"
#include "llvm_service/inlining/InlineGame.h"

namespace compiler_gym::llvm_service {

/// Compiles one program with `clang -Oz`. An action decides what its inliner does with calls; see
/// InlineActions.h.
///
/// The program is at any time what results with the decisions so far, and LLVM's own for all other
/// calls: at first it is that of `clang -Oz`.
class InlineSession final : public CompilationSession {
 public:
  explicit InlineSession(const boost::filesystem::path& workingDirectory);

  std::string getCompilerVersion() const final;
  std::vector<ActionSpace> getActionSpaces() const final;

  /// Those of the passes, but for what is about the last pass, and those of InlineObservations.h.
  std::vector<ObservationSpace> getObservationSpaces() const final;

  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace, const Benchmark& benchmark) final;

  void beginStep(int actions) final { actionsLeft_ = actions; }

  /// Ends the episode when the inliner has no further question, if the actions are answers.
  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) final;

  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) final;

  /// Knows llvm.{set,get}_target_triple, and those of SessionSettings.
  [[nodiscard]] grpc::Status handleSessionParameter(const std::string& key,
                                                    const std::string& value,
                                                    std::optional<std::string>& reply) final;

  [[nodiscard]] grpc::Status afterFork() final;

 private:
  [[nodiscard]] grpc::Status start();
  [[nodiscard]] grpc::Status setTargetTriple(const std::string& triple);
  [[nodiscard]] grpc::Status compute(const std::string& name, Event& observation);

  const InlineActions* actions_ = nullptr;
  std::shared_ptr<const Program> program_;
  // Empty for the target that the program names.
  std::string targetTriple_;
  SessionSettings settings_;
  std::unique_ptr<InlineGame> game_;
  bool hasActed_ = false;
  int actionsLeft_ = 0;
  // By name, the values of the update of that number.
  std::unordered_map<std::string, std::pair<uint64_t, Event>> observed_;
};

}  // namespace compiler_gym::llvm_service
