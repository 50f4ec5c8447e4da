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
/// Only modules for x86-64 in ELF, without what C programs seldom have: aliases, exceptions,
/// inline assembly, addresses of blocks, sections and alignments of functions, groups (comdat).
bool isSeparable(const llvm::Module& module);

/// A copy of a separable module of which the code generator emits no more than wanted. To the
/// functions that are there everything looks as it does in the whole module.
class ModuleShell {
 public:
  /// A copy in which no function has a body, as it were all declarations.
  ///
  /// @return null if the bitcode cannot be read.
  static std::unique_ptr<ModuleShell> make(const std::string& bitcode);

  const llvm::Module& module() const { return *module_; }

  /// From now on variables are known, and not emitted.
  void hideVariables();

  /// Adds a read-only variable of that many bytes, before all others.
  void addPadding(uint64_t bytes);

  /// Generates code of what is emitted and of the bodies of these functions, to be optimised for
  /// size. The bodies are not there any more afterwards.
  ///
  /// @param generate is given the module, and may change it and its context.
  /// @return false if a body cannot be read.
  bool with(const std::vector<std::string>& functions,
            const std::function<void(llvm::Module&)>& generate);

  /// Errors that LLVM has reported; empty if there were none.
  std::string takeErrors() { return context_.takeErrors(); }

  /// The name of a function in the module that this is a copy of. While it has no body it has
  /// another, or the code generator would take it for a library's.
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
