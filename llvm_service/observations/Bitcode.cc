#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// Bitcode: the module as LLVM bitcode, the bytes that `opt` would write.
Observations bitcode() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    const std::string& bytes = input.compilation.bitcode();
    event.mutable_byte_tensor()->add_shape(bytes.size());
    event.mutable_byte_tensor()->set_value(bytes);
    return grpc::Status::OK;
  };
  return {{bytesSpace("Bitcode"), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
