#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace mlir {
class MLIRContext;
}

namespace compiler_gym::mlir_service {

/// Creates a context with all dialects and the transforms of the actions. It has no threads,
/// because sessions are copied by copying their processes.
///
/// @return INTERNAL if the library of transforms does not parse.
[[nodiscard]] grpc::Status makeContext(std::unique_ptr<mlir::MLIRContext>& context);

}  // namespace compiler_gym::mlir_service
