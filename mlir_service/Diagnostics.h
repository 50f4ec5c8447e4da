#pragma once

#include <string>

#include "mlir/IR/Diagnostics.h"

namespace compiler_gym::mlir_service {

/// Collects the reports of MLIR in a context during its lifetime instead of printing them.
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
