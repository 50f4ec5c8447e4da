#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace mlir {
class MLIRContext;
}

namespace compiler_gym::mlir_service {

/// Makes a context with all dialects, and with the transforms that actions call loaded. It has no
/// threads: sessions are copied by copying their processes.
///
/// @return INTERNAL if the library of transforms does not parse.
[[nodiscard]] grpc::Status makeContext(std::unique_ptr<mlir::MLIRContext>& context);

}  // namespace compiler_gym::mlir_service
