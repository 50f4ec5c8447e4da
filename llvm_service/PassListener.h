#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
}

namespace compiler_gym::llvm_service {

/// Receives events about passes that have run.
class PassListener {
 public:
  virtual ~PassListener() = default;

  /// A pass has run on a function, on the module, or on a part of either, such as a loop.
  /// functionDone() or moduleDone() follows when all passes of the element have run.
  ///
  /// @param pass the name of its class, without "llvm::".
  /// @param function the function that it has run on or in; null if it may have changed others.
  /// @param claimsNoChange whether it says that it has preserved all analyses.
  virtual void passDone(llvm::StringRef pass, const llvm::Function* function,
                        bool claimsNoChange) = 0;

  /// An element of a pipeline has been run on the function, and may have changed it and what all
  /// functions share, but no other function that has a body.
  virtual void functionDone(const llvm::Function& function) = 0;

  /// A pass has been run that may have changed anything.
  virtual void moduleDone() = 0;
};

}  // namespace compiler_gym::llvm_service
