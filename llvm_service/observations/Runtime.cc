#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

grpc::Status computeRuntime(const ObservationInput& input, Event& event) {
  std::vector<double> seconds;
  Compilation& compilation = input.compilation;
  if (compilation.executable().isRunnable()) {
    double buildSeconds = 0;
    RETURN_IF_ERROR(compilation.build(buildSeconds));
    RETURN_IF_ERROR(compilation.executable().run(input.runCounts, seconds));
  }
  setSeconds(seconds, event);
  return grpc::Status::OK;
}

}  // namespace

/// Runtime: wall seconds of each measured run; empty if the benchmark is not runnable.
Observations runtime() { return {{secondsSpace("Runtime"), computeRuntime, /*exports=*/true}}; }

}  // namespace compiler_gym::llvm_service
