#pragma once

#include <string>

#include "mlir/IR/Diagnostics.h"

namespace compiler_gym::mlir_service {

/// Keeps what MLIR reports in a context during the life of the object, rather than print it.
class Diagnostics {
 public:
  explicit Diagnostics(mlir::MLIRContext& context);

  /// The errors, each with its place, separated by "; ", cut off if it is very long. Warnings and
  /// remarks are left out.
  std::string text() const;

 private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace compiler_gym::mlir_service
