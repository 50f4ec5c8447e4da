#pragma once

#include <grpcpp/support/status.h>

#include <memory>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/raw_ostream.h"

namespace llvm {
class Module;
class Pass;
class TargetMachine;
}  // namespace llvm

namespace compiler_gym::llvm_service {

struct CodeGeneratorExtras {
  /// A pass that comes before all others, which the generator takes over; null for none.
  llvm::Pass* first = nullptr;
  llvm::CodeGenFileType fileType = llvm::CodeGenFileType::ObjectFile;
};

/// Makes object files as `clang -c` does of optimised bitcode: position independent, for the
/// generic processor of a target.
///
/// Its setup costs as much as code for about fifty instructions, so it is reused for the next
/// module where that is safe.
class CodeGenerator {
 public:
  /// One for the target of a module.
  ///
  /// @param level The level of code generation; by default that of clang -O2, -Os and -Oz.
  /// @param extras Deviations from clang.
  /// @return INVALID_ARGUMENT if it is unknown or has no object files.
  [[nodiscard]] static grpc::Status make(
      const llvm::Module& module, std::unique_ptr<CodeGenerator>& generator,
      llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default,
      CodeGeneratorExtras extras = {});

  ~CodeGenerator();

  CodeGenerator(const CodeGenerator&) = delete;
  CodeGenerator& operator=(const CodeGenerator&) = delete;

  /// True if it can be reused for a module: the target is the same, and that target's code
  /// generator is known to keep no state of former modules.
  bool isReusableFor(const llvm::Module& module) const;

  /// Generates code, which changes the module and its context. Errors go to the context's
  /// diagnostic handler. The generator is unusable after an error.
  ///
  /// @param module of the generator's target.
  /// @return the object file. Valid until the next is made.
  llvm::StringRef run(llvm::Module& module);

 private:
  explicit CodeGenerator(std::unique_ptr<llvm::TargetMachine> machine);

  const std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallVector<char, 0> object_;
  llvm::raw_svector_ostream stream_;
  llvm::legacy::PassManager passes_;
};

}  // namespace compiler_gym::llvm_service
