#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// IsBuildable: whether the benchmark says how to build the program. IsRunnable: whether it also
/// says how to run it.
Observations buildability() {
  const auto isBuildable = [](const ObservationInput& input, Event& event) {
    event.set_boolean_value(input.compilation.executable().isBuildable());
    return grpc::Status::OK;
  };
  const auto isRunnable = [](const ObservationInput& input, Event& event) {
    event.set_boolean_value(input.compilation.executable().isRunnable());
    return grpc::Status::OK;
  };
  return {{flagSpace("IsBuildable"), isBuildable}, {flagSpace("IsRunnable"), isRunnable}};
}

}  // namespace compiler_gym::llvm_service
