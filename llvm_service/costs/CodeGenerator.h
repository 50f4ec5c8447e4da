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
/// To set one up takes as long as to generate code for some fifty instructions, so it is kept for
/// the next module where that is safe.
class CodeGenerator {
 public:
  /// One for the target of a module.
  ///
  /// @param level that of clang -O2, -Os and -Oz unless told otherwise.
  /// @param extras what to do differently.
  /// @return INVALID_ARGUMENT if it is unknown or has no object files.
  [[nodiscard]] static grpc::Status make(
      const llvm::Module& module, std::unique_ptr<CodeGenerator>& generator,
      llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default,
      CodeGeneratorExtras extras = {});

  ~CodeGenerator();

  CodeGenerator(const CodeGenerator&) = delete;
  CodeGenerator& operator=(const CodeGenerator&) = delete;

  /// True if it may generate code for a module after it has done so for others: it is for the same
  /// target, and that target's code generator is known to keep nothing of the others.
  bool isReusableFor(const llvm::Module& module) const;

  /// Generates code, which changes the module and its context. What is wrong with the module is
  /// told to the context's diagnostic handler; the generator is of no use then.
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
