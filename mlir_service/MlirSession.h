#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "mlir_service/Compilation.h"
#include "mlir_service/observations/Observations.h"

namespace compiler_gym::mlir_service {

/// Transforms one kernel with MLIR. An action is one pass, given by its number.
class MlirSession final : public CompilationSession {
 public:
  explicit MlirSession(const boost::filesystem::path& workingDirectory);

  /// The version of MLIR and the processor that kernels are compiled for.
  std::string getCompilerVersion() const final;

  std::vector<ActionSpace> getActionSpaces() const final;
  std::vector<ObservationSpace> getObservationSpaces() const final;

  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace, const Benchmark& benchmark) final;

  /// INTERNAL if the pass fails.
  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) final;

  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) final;

  /// mlir.{set,get}_runtimes_per_observation_count, ..._warmup_runs_count_per_runtime_observation
  /// and ..._runtime_limit_seconds.
  [[nodiscard]] grpc::Status handleSessionParameter(const std::string& key,
                                                    const std::string& value,
                                                    std::optional<std::string>& reply) final;

  bool holdsOnlyMemory() const final { return true; }

 private:
  const std::vector<Observation> observations_;
  std::unique_ptr<Compilation> compilation_;
  Settings settings_;
};

}  // namespace compiler_gym::mlir_service
