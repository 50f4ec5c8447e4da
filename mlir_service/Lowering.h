#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "mlir/IR/BuiltinOps.h"

namespace compiler_gym::mlir_service {

/// The name of the function that compiled kernels are called by: void(void** arguments), with the
/// address of each field of the descriptor of each memref.
constexpr char kEntryName[] = "compiler_gym_run";

/// What a module is compiled to.
struct MachineCode {
  /// LLVM IR after optimisation, as text.
  std::string llvmIr;
  /// An object file for this processor.
  std::string object;
};

/// Compiles a copy of a module. What it still has of linalg, affine, vector and scf operations is
/// lowered in the plain way, and the LLVM IR is optimised as by -O3 for the processor of this
/// machine. The compiler may rely on the buffers of @kernel not overlapping.
///
/// @return INTERNAL with the reason if something in it cannot be lowered.
[[nodiscard]] grpc::Status compile(mlir::ModuleOp module, MachineCode& code);

}  // namespace compiler_gym::mlir_service
