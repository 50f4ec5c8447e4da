#pragma once

#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace llvm {
class DiagnosticInfoOptimizationBase;
}

namespace compiler_gym::llvm_service {

/// A context that collects the errors of LLVM instead of printing them and ending the process.
class Context {
 public:
  Context();

  llvm::LLVMContext& get() { return context_; }

  /// The errors since the last call, one on each line; empty without errors.
  std::string takeErrors();

  using RemarkHandler = std::function<void(const llvm::DiagnosticInfoOptimizationBase&)>;

  /// Enables the remarks of passes, and calls the handler for each. An empty handler, the default,
  /// disables them, as in `opt`. Some passes compute more if remarks are enabled.
  void setRemarkHandler(RemarkHandler handler) { remarkHandler_ = std::move(handler); }

 private:
  llvm::LLVMContext context_;
  std::string errors_;
  RemarkHandler remarkHandler_;
};

/// A module with the context that owns its types and constants.
struct OwnedModule {
  std::unique_ptr<Context> context;
  std::unique_ptr<llvm::Module> module;
};

/// Parses bitcode or textual IR into a context of its own, without value names.
///
/// @return INVALID_ARGUMENT if the input is empty or is neither.
[[nodiscard]] grpc::Status parseIr(llvm::StringRef input, OwnedModule& result);

/// The bitcode that `opt` would write: with the order of use lists, on which some passes depend,
/// and without a hash.
std::string writeBitcode(const llvm::Module& module);

/// The start and end offsets of texts in another text.
using TextRanges = std::vector<std::pair<size_t, size_t>>;

/// The textual IR of a module.
///
/// @param instructions Gets where each instruction is, in the order of the module; white space is
///     around it.
std::string printIr(const llvm::Module& module, TextRanges* instructions = nullptr);

/// @return DATA_LOSS, with the finding, if LLVM's verifier rejects the module.
[[nodiscard]] grpc::Status verify(const llvm::Module& module);

}  // namespace compiler_gym::llvm_service
