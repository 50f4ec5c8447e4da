#include "llvm_service/TargetMachine.h"

#include <string>

#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm_service/LlvmCompatibility.h"

namespace compiler_gym::llvm_service {

namespace {

std::unique_ptr<llvm::TargetMachine> createTargetMachineFor(
    const llvm::Triple& triple, llvm::CodeGenOptLevel level,
    std::optional<llvm::Reloc::Model> relocation) {
  const llvm::Target* target = lookUpTarget(triple);
  if (target == nullptr) {
    return nullptr;
  }
  llvm::TargetOptions options;
  // Without this option, constructors go to .ctors, which linkers ignore silently.
  options.UseInitArray = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      asTarget(triple), /*CPU=*/"", /*Features=*/"", options, relocation, std::nullopt, level));
}

}  // namespace

void initializeTargets() {
  static const bool initialized = [] {
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
    return true;
  }();
  static_cast<void>(initialized);
}

const llvm::Target* lookUpTarget(const llvm::Triple& triple) {
  initializeTargets();
  std::string error;
  return llvm::TargetRegistry::lookupTarget(asTarget(triple), error);
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(
    const llvm::Module& module, llvm::CodeGenOptLevel level,
    std::optional<llvm::Reloc::Model> relocation) {
  return createTargetMachineFor(llvm::Triple(module.getTargetTriple()), level, relocation);
}

std::unique_ptr<llvm::TargetMachine> createHostTargetMachine() {
  return createTargetMachineFor(llvm::Triple(llvm::sys::getDefaultTargetTriple()),
                                llvm::CodeGenOptLevel::None, std::nullopt);
}

}  // namespace compiler_gym::llvm_service
