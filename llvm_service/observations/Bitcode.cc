#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// Bitcode: the module as LLVM bitcode, the bytes that `opt` would write.
Observations bitcode() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    setBytes(input.compilation.bitcode(), event);
    return grpc::Status::OK;
  };
  return {{bytesSpace("Bitcode"), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
