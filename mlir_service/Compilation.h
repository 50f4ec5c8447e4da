#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mlir/IR/MLIRContext.h"
#include "mlir_service/Execution.h"
#include "mlir_service/Kernel.h"
#include "mlir_service/Lowering.h"

namespace compiler_gym::mlir_service {

/// A kernel under transformation, and its initial state.
class Compilation {
 public:
  /// Reads a kernel, compiles it, and runs it to learn its results.
  ///
  /// @return INVALID_ARGUMENT with the reason if that does not work or takes too long;
  ///     RESOURCE_EXHAUSTED if the machine has too little memory, processes, files or time left.
  [[nodiscard]] static grpc::Status start(const std::string& text,
                                          std::unique_ptr<Compilation>& compilation);

  /// Runs a pass.
  ///
  /// @param changed True if the text of the module is different now.
  /// @return INTERNAL with the reason if it fails. The state of the module is then unknown.
  [[nodiscard]] grpc::Status apply(const std::string& pipeline, bool& changed);

  mlir::ModuleOp module() const { return *kernel_.module; }
  /// The module as mlir-opt prints it.
  const std::string& ir() const { return ir_; }

  /// The compiled module, made on first use.
  [[nodiscard]] grpc::Status machineCode(const MachineCode*& code);

  /// Runs the kernel as it is now: see Execution::measure().
  [[nodiscard]] grpc::Status measure(const RunCounts& counts, std::chrono::seconds limit,
                                     std::vector<double>& seconds);
  /// Runs the kernel as it was at the start.
  [[nodiscard]] grpc::Status measureStart(const RunCounts& counts, std::chrono::seconds limit,
                                          std::vector<double>& seconds) const;

 private:
  Compilation() = default;
  [[nodiscard]] grpc::Status runStart();

  std::unique_ptr<mlir::MLIRContext> context_;
  Kernel kernel_;
  std::string ir_;
  // The current module's and the initial kernel's.
  std::optional<MachineCode> code_;
  MachineCode startCode_;
  Contents expected_;
};

}  // namespace compiler_gym::mlir_service
