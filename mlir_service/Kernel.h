#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace compiler_gym::mlir_service {

/// The name of the function that is optimised and run.
constexpr char kKernelName[] = "kernel";

enum class ElementType { kF32, kF64, kI32, kI64 };

/// Bytes of an element.
size_t sizeOf(ElementType type);

/// A buffer that the kernel is given: elements of one type, in row-major order without gaps.
struct Buffer {
  ElementType type;
  std::vector<int64_t> shape;

  int64_t elements() const;
  size_t bytes() const { return static_cast<size_t>(elements()) * sizeOf(type); }
};

/// A program that can be run: an MLIR module with a function @kernel, whose arguments are buffers.
struct Kernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Buffer> arguments;
};

/// Reads a program in the textual form of MLIR.
///
/// @return INVALID_ARGUMENT with the reason if the text does not parse or verify, if there is no
///     function @kernel with a body, if that has results or arguments other than memrefs of static
///     shapes of f32, f64, i32 or i64 without layouts, or if they take more than 256 MiB.
[[nodiscard]] grpc::Status parseKernel(const std::string& text, mlir::MLIRContext& context,
                                       Kernel& kernel);

/// The properties of a type that make a buffer. INVALID_ARGUMENT if none can be made.
[[nodiscard]] grpc::Status bufferOf(mlir::Type type, Buffer& buffer);

}  // namespace compiler_gym::mlir_service
