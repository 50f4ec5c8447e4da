#include "llvm_service/costs/CodeSize.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/Ir.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/Target.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

Status generateObject(llvm::Module& module, llvm::SmallVectorImpl<char>& object) {
  const std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, llvm::CodeGenOptLevel::Default, llvm::Reloc::PIC_);
  if (!machine) {
    return {StatusCode::INVALID_ARGUMENT,
            "This LLVM cannot generate code for the target \"" + targetName(module) + "\""};
  }
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  // The target's libraries decide which calls become instructions, e.g. those of sqrt. Without
  // this, LLVM 19 takes them for those of an unknown system.
  passes.add(new llvm::TargetLibraryInfoWrapperPass(
      llvm::TargetLibraryInfoImpl(llvm::Triple(module.getTargetTriple()))));
  if (machine->addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                   llvm::CodeGenFileType::ObjectFile)) {
    return {StatusCode::INVALID_ARGUMENT,
            "The target \"" + targetName(module) + "\" cannot generate object files"};
  }
  passes.run(module);
  return Status::OK;
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
  optimizeForSize(*copy.module);
  llvm::SmallVector<char, 0> object;
  RETURN_IF_ERROR(generateObject(*copy.module, object));
  if (const std::string errors = copy.context->takeErrors(); !errors.empty()) {
    return {StatusCode::INVALID_ARGUMENT, "Code generation failed: " + errors};
  }
  return textSize(llvm::StringRef(object.data(), object.size()), bytes);
}

}  // namespace compiler_gym::llvm_service
