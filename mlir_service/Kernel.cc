#include "mlir_service/Kernel.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Parser/Parser.h"
#include "mlir_service/Diagnostics.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr int64_t kMaxElements = int64_t{1} << 26;
constexpr size_t kMaxBytes = size_t{256} << 20;

Status invalid(const std::string& text) { return {StatusCode::INVALID_ARGUMENT, text}; }

std::string print(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Status readArguments(mlir::func::FuncOp function, std::vector<Buffer>& arguments) {
  size_t bytes = 0;
  for (mlir::Type type : function.getArgumentTypes()) {
    Buffer buffer;
    RETURN_IF_ERROR(bufferOf(type, buffer));
    bytes += buffer.bytes();
    if (bytes > kMaxBytes) {
      return invalid("The arguments of @kernel take more than 256 MiB: make them smaller");
    }
    arguments.push_back(std::move(buffer));
  }
  if (arguments.empty()) return invalid("@kernel has no arguments, so it has no results either");
  return Status::OK;
}

}  // namespace

size_t sizeOf(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kI32 ? 4 : 8;
}

int64_t Buffer::elements() const {
  int64_t product = 1;
  for (int64_t size : shape) product *= size;
  return product;
}

Status bufferOf(mlir::Type type, Buffer& buffer) {
  const std::string prefix = "An argument of @kernel is " + print(type) + ": ";
  auto memref = llvm::dyn_cast<mlir::MemRefType>(type);
  if (!memref) return invalid(prefix + "they have to be memrefs, e.g. memref<64x64xf32>");
  if (!memref.hasStaticShape()) return invalid(prefix + "its shape has to be static");
  if (!memref.getLayout().isIdentity() || memref.getMemorySpace()) {
    return invalid(prefix + "it must have neither a layout nor a memory space");
  }
  mlir::Type element = memref.getElementType();
  if (element.isF32()) {
    buffer.type = ElementType::kF32;
  } else if (element.isF64()) {
    buffer.type = ElementType::kF64;
  } else if (element.isSignlessInteger(32)) {
    buffer.type = ElementType::kI32;
  } else if (element.isSignlessInteger(64)) {
    buffer.type = ElementType::kI64;
  } else {
    return invalid(prefix + "elements have to be f32, f64, i32 or i64");
  }
  int64_t elements = 1;
  for (int64_t size : memref.getShape()) {
    if (size <= 0 || size > kMaxElements / elements) {
      return invalid(prefix + "it needs at least one element, and at most 2^26");
    }
    elements *= size;
  }
  buffer.shape.assign(memref.getShape().begin(), memref.getShape().end());
  return Status::OK;
}

Status parseKernel(const std::string& text, mlir::MLIRContext& context, Kernel& kernel) {
  if (text.find('\0') != std::string::npos || text.rfind("ML\xefR", 0) == 0) {
    return invalid("The program is not MLIR as text");
  }
  const Diagnostics diagnostics(context);
  const mlir::ParserConfig config(&context);
  kernel.module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "kernel.mlir");
  if (!kernel.module) return invalid("The program is not valid MLIR: " + diagnostics.text());
  auto function = kernel.module->lookupSymbol<mlir::func::FuncOp>(kKernelName);
  if (!function || function.isExternal()) {
    return invalid(
        "There is no function with a body of the name @kernel (func.func) in the program");
  }
  if (function.getNumResults() != 0) {
    return invalid("@kernel has results: it has to write to its arguments instead");
  }
  return readArguments(function, kernel.arguments);
}

}  // namespace compiler_gym::mlir_service
