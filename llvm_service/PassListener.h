#pragma once

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
  /// @param claimsNoChange whether it says that it has preserved all analyses. This is a hint: some
  ///     passes claim so falsely.
  virtual void passDone(bool claimsNoChange) = 0;

  /// Called after an element of a pipeline has run on the function. It may have changed the
  /// function and shared parts of the module, but no other function with a body.
  virtual void functionDone(const llvm::Function& function) = 0;

  /// Called after a pass that may have changed anything.
  virtual void moduleDone() = 0;
};

}  // namespace compiler_gym::llvm_service
