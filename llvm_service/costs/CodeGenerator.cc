#include "llvm_service/costs/CodeGenerator.h"

#include <utility>

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/TargetMachine.h"

namespace compiler_gym::llvm_service {

using grpc::Status;
using grpc::StatusCode;

CodeGenerator::~CodeGenerator() = default;

CodeGenerator::CodeGenerator(std::unique_ptr<llvm::TargetMachine> machine)
    : machine_(std::move(machine)), stream_(object_) {
  // The target's libraries decide which calls become instructions, e.g. those of sqrt. Without
  // this, LLVM 19 assumes an unknown system.
  passes_.add(new llvm::TargetLibraryInfoWrapperPass(
      llvm::TargetLibraryInfoImpl(machine_->getTargetTriple())));
}

Status CodeGenerator::make(const llvm::Module& module, std::unique_ptr<CodeGenerator>& generator,
                           llvm::CodeGenOptLevel level, CodeGeneratorExtras extras) {
  std::unique_ptr<llvm::Pass> first(extras.first);
  auto machine = createTargetMachine(module, level, llvm::Reloc::PIC_);
  if (!machine) {
    return {StatusCode::INVALID_ARGUMENT,
            "This LLVM cannot generate code for the target \"" + targetName(module) + "\""};
  }
  std::unique_ptr<CodeGenerator> made(new CodeGenerator(std::move(machine)));
  if (first) made->passes_.add(first.release());
  if (made->machine_->addPassesToEmitFile(made->passes_, made->stream_, /*DwoOut=*/nullptr,
                                          extras.fileType)) {
    return {StatusCode::INVALID_ARGUMENT,
            "The target \"" + targetName(module) + "\" cannot generate object files"};
  }
  generator = std::move(made);
  return Status::OK;
}

bool CodeGenerator::isReusableFor(const llvm::Module& module) const {
  // The code generator of RISC-V keeps a symbol of the previous object, and writes to it after it
  // was freed (LLVM 22). Valgrind has checked the reuse for x86 only, with all built-in programs.
  return machine_->getTargetTriple().isX86() &&
         machine_->getTargetTriple().str() == targetName(module);
}

llvm::StringRef CodeGenerator::run(llvm::Module& module) {
  object_.clear();
  passes_.run(module);
  return {object_.data(), object_.size()};
}

}  // namespace compiler_gym::llvm_service
