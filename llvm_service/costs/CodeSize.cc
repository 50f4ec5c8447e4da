#include "llvm_service/costs/CodeSize.h"

#include <memory>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm_service/Ir.h"
#include "llvm_service/costs/ClangPipeline.h"
#include "llvm_service/costs/CodeGenerator.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

// That of the last size, for the next. Not one after an error, as it may be in any state then.
std::unique_ptr<CodeGenerator>& keptGenerator() {
  thread_local std::unique_ptr<CodeGenerator> generator;
  return generator;
}

}  // namespace

Status textSize(llvm::StringRef object, int64_t& bytes) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) {
    return {StatusCode::INVALID_ARGUMENT,
            "Not an object file: " + llvm::toString(file.takeError())};
  }
  bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (section.isBerkeleyText()) {
      bytes += static_cast<int64_t>(section.getSize());
    }
  }
  return Status::OK;
}

void optimizeForSize(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.hasOptNone()) {
      function.addFnAttr(llvm::Attribute::OptimizeForSize);
      function.addFnAttr(llvm::Attribute::MinSize);
    }
  }
}

Status objectTextSize(llvm::StringRef bitcode, int64_t& bytes) {
  // Code generation changes the module and its context, so it gets copies of both.
  OwnedModule copy;
  RETURN_IF_ERROR(parseIr(bitcode, copy));
  optimizeAsClangAtO0(*copy.module);
  optimizeForSize(*copy.module);
  std::unique_ptr<CodeGenerator> generator = std::move(keptGenerator());
  if (!generator || !generator->isReusableFor(*copy.module)) {
    RETURN_IF_ERROR(CodeGenerator::make(*copy.module, generator));
  }
  const llvm::StringRef object = generator->run(*copy.module);
  if (const std::string errors = copy.context->takeErrors(); !errors.empty()) {
    return {StatusCode::INVALID_ARGUMENT, "Code generation failed: " + errors};
  }
  RETURN_IF_ERROR(textSize(object, bytes));
  keptGenerator() = std::move(generator);
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
