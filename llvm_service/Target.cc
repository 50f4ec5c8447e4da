#include "llvm_service/Target.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"

namespace compiler_gym::llvm_service {

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

std::unique_ptr<llvm::TargetMachine> createTargetMachine(
    const llvm::Module& module, llvm::CodeGenOptLevel level,
    std::optional<llvm::Reloc::Model> relocation) {
  initializeTargets();
  const llvm::Triple triple(module.getTargetTriple());
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) {
    return nullptr;
  }
  llvm::TargetOptions options;
  // Without it constructors go to .ctors, which linkers skip without a word.
  options.UseInitArray = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, /*CPU=*/"", /*Features=*/"", options, relocation, std::nullopt, level));
}

}  // namespace compiler_gym::llvm_service
