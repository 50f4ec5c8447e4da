#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
}

namespace compiler_gym::llvm_service {

/// A listener for the functions and modules that passes have run on.
class PassListener {
 public:
  virtual ~PassListener() = default;

  /// Called after each pass, before the end of the element of the pipeline that it belongs to.
  ///
  /// @param pass the name of its class.
  /// @param claimsNoChange whether it says that it has preserved all analyses.
  virtual void passDone(llvm::StringRef pass, bool claimsNoChange) = 0;

  /// Called after an element of a pipeline has run on the function. It may have changed the
  /// function and shared parts of the module, but no other function with a body.
  virtual void functionDone(const llvm::Function& function) = 0;

  /// Called after a pass that may have changed anything.
  virtual void moduleDone() = 0;
};

}  // namespace compiler_gym::llvm_service
