#include "llvm_service/costs/CodeSize.h"

#include <memory>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm_service/Ir.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

// The code generator of the last size, for reuse. Dropped after errors, as its state is unknown.
std::unique_ptr<CodeGenerator>& keptGenerator() {
  thread_local std::unique_ptr<CodeGenerator> generator;
  return generator;
}

// Computes the size. The state of the module is undefined afterwards.
Status sizeOfCode(CodeGenerator& generator, OwnedModule& owned, int64_t& bytes) {
  const llvm::StringRef object = generator.run(*owned.module);
  if (const std::string errors = owned.context->takeErrors(); !errors.empty()) {
    return {StatusCode::INVALID_ARGUMENT, "Code generation failed: " + errors};
  }
  return textSize(object, bytes);
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

Status objectTextSize(llvm::StringRef bitcode, int64_t& bytes) {
  // Code generation changes the module and its context, so it gets copies of both.
  OwnedModule copy;
  RETURN_IF_ERROR(parseIr(bitcode, copy));
  optimizeAsClangAtO0(*copy.module);
  markForSize(*copy.module);
  std::unique_ptr<CodeGenerator> generator = std::move(keptGenerator());
  if (!generator || !generator->isReusableFor(*copy.module)) {
    RETURN_IF_ERROR(CodeGenerator::make(*copy.module, generator));
  }
  RETURN_IF_ERROR(sizeOfCode(*generator, copy, bytes));
  keptGenerator() = std::move(generator);
  return Status::OK;
}

Status objectTextSizeForSpeed(llvm::StringRef bitcode, int64_t& bytes) {
  OwnedModule copy;
  RETURN_IF_ERROR(parseIr(bitcode, copy));
  std::unique_ptr<CodeGenerator> generator;
  RETURN_IF_ERROR(CodeGenerator::make(*copy.module, generator, llvm::CodeGenOptLevel::Aggressive));
  return sizeOfCode(*generator, copy, bytes);
}

}  // namespace compiler_gym::llvm_service
