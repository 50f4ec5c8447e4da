#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

grpc::Status computeBuildtime(const ObservationInput& input, Event& event) {
  std::vector<double> seconds;
  Compilation& compilation = input.compilation;
  if (compilation.executable().isBuildable()) {
    RETURN_IF_ERROR(compilation.build(seconds.emplace_back()));
  }
  setSeconds(seconds, event);
  return grpc::Status::OK;
}

}  // namespace

/// Buildtime: wall seconds of the build command; empty if the benchmark is not buildable.
Observations buildtime() {
  return {{secondsSpace("Buildtime"), computeBuildtime, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
