#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "mlir/IR/BuiltinOps.h"

namespace compiler_gym::mlir_service {

/// The name of the function that compiled kernels are called by: void(void** arguments), with the
/// address of each field of the descriptor of each memref.
constexpr char kEntryName[] = "compiler_gym_run";

/// Makes the processor of this machine known to LLVM, which is needed to compile and to load code.
void initializeHostTarget();

/// The lowered form of a module.
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
/// It is done in a process of its own: whatever LLVM makes of it, this process goes on.
///
/// @return INTERNAL with the reason if something in it cannot be lowered, or LLVM crashes;
///     DEADLINE_EXCEEDED if it takes more than a minute.
[[nodiscard]] grpc::Status compile(mlir::ModuleOp module, MachineCode& code);

}  // namespace compiler_gym::mlir_service
