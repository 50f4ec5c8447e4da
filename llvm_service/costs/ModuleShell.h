#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/GlobalValue.h"
#include "llvm_service/Ir.h"

namespace compiler_gym::llvm_service {

/// True if the code of a module's functions can be generated separately: nothing that the code
/// generator does with one function of it depends on the bodies of others, and code is not aligned.
/// Only modules for x86-64 in ELF, without features that are rare in C: aliases, exceptions, inline
/// assembly, addresses of blocks, sections and alignments of functions, groups (comdat).
bool isSeparable(const llvm::Module& module);

/// A copy of a separable module for generating code of selected functions only. For these functions
/// it is equivalent to the whole module.
class ModuleShell {
 public:
  /// A copy in which no function has a body, as it were all declarations.
  ///
  /// @return null if the bitcode cannot be read.
  static std::unique_ptr<ModuleShell> make(const std::string& bitcode);

  const llvm::Module& module() const { return *module_; }

  /// Stops emitting variables, which stay declared.
  void hideVariables();

  /// Adds a read-only variable of that many bytes, before all others.
  void addPadding(uint64_t bytes);

  /// Generates code of the emitted variables and of these functions, optimised for size. Removes
  /// the bodies afterwards.
  ///
  /// @param generate is given the module, and may change it and its context.
  /// @return false if a body cannot be read.
  bool with(const std::vector<std::string>& functions,
            const std::function<void(llvm::Module&)>& generate);

  /// Errors that LLVM has reported; empty if there were none.
  std::string takeErrors() { return context_.takeErrors(); }

  /// The name of a function in the original module. Without a body the function has another name,
  /// so that the code generator does not take it for a library function.
  static llvm::StringRef originalName(llvm::StringRef name);

 private:
  struct Original {
    llvm::Function* function;
    llvm::GlobalValue::LinkageTypes linkage;
  };

  ModuleShell() = default;

  void removeBody(const std::string& name, const Original& original);

  Context context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::StringMap<Original> originals_;
};

}  // namespace compiler_gym::llvm_service
