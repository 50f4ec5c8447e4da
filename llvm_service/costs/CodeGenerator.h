#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace compiler_gym::llvm_service {

/// Makes object files as `clang -c` does of optimised bitcode: position independent, for the
/// generic processor of a target.
///
/// To set one up takes as long as to generate code for some fifty instructions. It can be used
/// again and again and makes the same bytes, which LLVM tests by `llc -compile-twice`.
class CodeGenerator {
 public:
  /// One for the target of a module.
  ///
  /// @return INVALID_ARGUMENT if it is unknown or has no object files.
  [[nodiscard]] static grpc::Status make(const llvm::Module& module,
                                         std::unique_ptr<CodeGenerator>& generator);

  /// Whether it is for the target of a module.
  bool isFor(const llvm::Module& module) const;

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
