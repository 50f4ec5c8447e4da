#include "mlir_service/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

namespace compiler_gym::mlir_service {

namespace {

constexpr size_t kMaxBytes = 2000;

}  // namespace

Diagnostics::Diagnostics(mlir::MLIRContext& context)
    : handler_(&context, [this](mlir::Diagnostic& diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            text_.size() < kMaxBytes) {
          llvm::raw_string_ostream stream(text_);
          stream << (text_.empty() ? "" : "; ") << diagnostic.getLocation() << ": " << diagnostic;
        }
        return mlir::success();
      }) {}

std::string Diagnostics::text() const {
  if (text_.empty()) return "no reason was given";
  return text_.size() <= kMaxBytes ? text_ : text_.substr(0, kMaxBytes) + "...";
}

}  // namespace compiler_gym::mlir_service
