#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm_service/passes/CallSites.h"

namespace llvm {
class Function;
class Module;
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// The properties of a function on which the preconditions of decisions depend. A search makes
/// decisions by trial, so they apply only to kinds of functions on which they were tried.
struct FunctionTraits {
  /// True if the user has excluded the function, by `[[clang::annotate("compiler_gym:keep")]]` or
  /// the pass `keep-functions`.
  bool isKept = false;
  /// True if the function calls itself, directly or through other functions of the module.
  bool isRecursive = false;
  /// Contents for which decisions have no preconditions: "inline assembly", "setjmp", "dynamic
  /// alloca", ... Includes the contents of functions that LLVM may inline into this one.
  std::vector<llvm::StringRef> special;

  /// True if no decision may change the function.
  bool isExcluded() const { return isKept || !special.empty(); }

  /// Checks the preconditions of an adjustment by `set-functions`: no function is adjusted that is
  /// kept or has special contents. No pass is left out of a recursive function, since most passes
  /// before `tailcallelim` help it to turn recursion into a loop. No pass that isForTailCalls() is
  /// left out of any.
  bool permits(llvm::StringRef adjustment) const;
};

/// The traits of the functions that a module defines.
class ModuleTraits {
 public:
  /// @param module a module on which no pass has run.
  explicit ModuleTraits(llvm::Module& module);

  const FunctionTraits& of(const llvm::Function& function) const;

  /// Checks the precondition of decisions about a call: neither caller nor callee is excluded.
  bool permits(const llvm::CallBase& call) const;

 private:
  llvm::DenseMap<const llvm::Function*, FunctionTraits> traits_;
};

/// True for the passes without which calls do not become jumps: `tailcallelim` turns tail recursion
/// into loops and marks the others, and `codegenprepare` copies returns behind them.
bool isForTailCalls(llvm::StringRef pass);

/// Registers `keep-functions<a;b>`, which excludes functions by name.
void registerFunctionTraits(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
