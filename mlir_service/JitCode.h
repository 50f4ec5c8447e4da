#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "mlir_service/Execution.h"

namespace llvm::orc {
class LLJIT;
}

namespace compiler_gym::mlir_service {

/// A compiled kernel in the memory of this process, with buffers to run it on.
class JitCode {
 public:
  explicit JitCode(const std::vector<Buffer>& arguments);
  ~JitCode();
  JitCode(const JitCode&) = delete;
  JitCode& operator=(const JitCode&) = delete;

  /// Loads an object file of compile().
  ///
  /// @return INTERNAL if it cannot be loaded, e.g. because it needs functions that are not there.
  [[nodiscard]] grpc::Status load(const std::string& object);

  /// Fills the buffers, as many as there are arguments.
  void set(const Contents& contents);
  /// The contents of the buffers.
  Contents get() const;
  /// Calls the kernel.
  void call() { entry_(fields_.data()); }

 private:
  struct Deleter {
    void operator()(void* memory) const;
  };

  const std::vector<Buffer>& arguments_;
  std::vector<std::unique_ptr<void, Deleter>> buffers_;
  // The descriptors of the buffers, field by field, and the address of each field.
  std::vector<int64_t> values_;
  std::vector<void*> fields_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  void (*entry_)(void**) = nullptr;
};

}  // namespace compiler_gym::mlir_service
