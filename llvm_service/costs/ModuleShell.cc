#include "llvm_service/costs/ModuleShell.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::GlobalValue;

constexpr char kAbsent[] = ".absent";

bool hasInlineAssembly(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call != nullptr && call->isInlineAsm();
  });
}

bool hasAddressOfBlock(const llvm::Function& function) {
  return llvm::any_of(function,
                      [](const llvm::BasicBlock& block) { return block.hasAddressTaken(); });
}

bool isSeparable(const llvm::Function& function) {
  if (function.isDeclaration()) {
    return true;
  }
  return function.hasName() && !function.hasComdat() && !function.hasSection() &&
         !function.getAlign() && !function.hasOptNone() && !function.hasPersonalityFn() &&
         !function.hasPrefixData() && !function.hasPrologueData() && !hasAddressOfBlock(function) &&
         !hasInlineAssembly(function);
}

}  // namespace

bool isSeparable(const llvm::Module& module) {
  const llvm::Triple triple(module.getTargetTriple());
  return triple.getArch() == llvm::Triple::x86_64 && triple.isOSBinFormatELF() &&
         module.alias_empty() && module.ifunc_empty() && module.named_metadata_empty() &&
         module.getModuleInlineAsm().empty() && !hasMandatoryWork(module) &&
         llvm::all_of(module, [](const llvm::Function& function) { return isSeparable(function); });
}

std::unique_ptr<ModuleShell> ModuleShell::make(const std::string& bitcode) {
  std::unique_ptr<ModuleShell> shell(new ModuleShell());
  auto module =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "-"), shell->context_.get(),
                                 /*ShouldLazyLoadMetadata=*/true);
  if (!module) {
    llvm::consumeError(module.takeError());
    return nullptr;
  }
  shell->module_ = std::move(*module);
  for (llvm::Function& function : *shell->module_) {
    if (function.isMaterializable()) {
      shell->originals_[function.getName()] = {&function, function.getLinkage()};
    }
  }
  for (const auto& original : shell->originals_) {
    original.second.function->setIsMaterializable(false);
    shell->removeBody(original.first().str(), original.second);
    if (originalName(original.second.function->getName()) != original.first()) {
      return nullptr;  // Another global has that name already.
    }
  }
  return shell;
}

llvm::StringRef ModuleShell::originalName(llvm::StringRef name) {
  name.consume_back(kAbsent);
  return name;
}

void ModuleShell::removeBody(const std::string& name, const Original& original) {
  original.function->deleteBody();  // It has external linkage now.
  if (GlobalValue::isLocalLinkage(original.linkage)) {
    original.function->setDSOLocal(true);
    original.function->setName(name + kAbsent);
  }
}

void ModuleShell::hideVariables() {
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module_->globals())) {
    if (variable.hasAppendingLinkage()) {
      variable.eraseFromParent();  // These are lists for the linker.
    } else if (variable.hasInitializer()) {
      if (!variable.getAlign() && variable.isStrongDefinitionForLinker()) {
        variable.setAlignment(module_->getDataLayout().getPreferredAlign(&variable));
      }
      variable.setComdat(nullptr);
      if (variable.hasDefinitiveInitializer()) {
        variable.setLinkage(GlobalValue::AvailableExternallyLinkage);
      } else {
        variable.setInitializer(nullptr);
        variable.setLinkage(GlobalValue::ExternalLinkage);
      }
    }
  }
}

void ModuleShell::addPadding(uint64_t bytes) {
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context_.get()), bytes);
  auto* padding = new llvm::GlobalVariable(type, /*isConstant=*/true, GlobalValue::PrivateLinkage,
                                           llvm::Constant::getNullValue(type));
  padding->setAlignment(llvm::Align(1));
  module_->insertGlobalVariable(module_->global_begin(), padding);
}

bool ModuleShell::with(const std::vector<std::string>& functions,
                       const std::function<void(llvm::Module&)>& generate) {
  for (const std::string& name : functions) {
    const Original& original = originals_.lookup(name);
    original.function->setName(name);
    original.function->setLinkage(original.linkage);
    original.function->setIsMaterializable(true);
    if (llvm::errorToBool(original.function->materialize())) {
      return false;
    }
  }
  markForSize(*module_);
  generate(*module_);
  for (const std::string& name : functions) {
    removeBody(name, originals_.lookup(name));
  }
  return true;
}

}  // namespace compiler_gym::llvm_service
