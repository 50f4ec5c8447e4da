#pragma once

namespace llvm {
class Function;
}

namespace compiler_gym::llvm_service {

/// A listener for the functions and modules that passes have run on.
class PassListener {
 public:
  virtual ~PassListener() = default;

  /// An element of a pipeline has been run on the function, and may have changed it and what all
  /// functions share, but no other function that has a body.
  virtual void functionDone(const llvm::Function& function) = 0;

  /// A pass has been run that may have changed anything.
  virtual void moduleDone() = 0;
};

}  // namespace compiler_gym::llvm_service
