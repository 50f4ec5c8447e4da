#include "mlir_service/Context.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir_service/Diagnostics.h"
#include "mlir_service/actions/LibraryText.h"

namespace compiler_gym::mlir_service {

using grpc::Status;

Status makeContext(std::unique_ptr<mlir::MLIRContext>& context) {
  static const bool hasPasses = [] {
    mlir::registerAllPasses();
    return true;
  }();
  static_cast<void>(hasPasses);
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  const Diagnostics diagnostics(*context);
  auto library = mlir::parseSourceString<mlir::ModuleOp>(kLibraryText, context.get());
  auto* dialect = context->getOrLoadDialect<mlir::transform::TransformDialect>();
  if (!library || mlir::failed(dialect->loadIntoLibraryModule(std::move(library)))) {
    return {grpc::StatusCode::INTERNAL, "The library of transforms: " + diagnostics.text()};
  }
  return Status::OK;
}

}  // namespace compiler_gym::mlir_service
