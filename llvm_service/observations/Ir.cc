#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// Ir: the module as textual IR.
Observations ir() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    *event.mutable_string_value() = printIr(input.compilation.module());
    return grpc::Status::OK;
  };
  return {{textSpace("Ir"), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
