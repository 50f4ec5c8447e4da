#pragma once

#include <memory>

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace compiler_gym::llvm_service {

/// Makes LLVM's targets known to this process. Idempotent and thread-safe.
void initializeTargets();

/// The target machine that `opt` and `llc` would make for the module without further flags.
///
/// @param relocation the relocation model; unset for the target's default.
/// @return null if this LLVM has no such target.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(
    const llvm::Module& module, llvm::CodeGenOptLevel level,
    std::optional<llvm::Reloc::Model> relocation = std::nullopt);

/// The target machine that `opt` would make for a module for this machine.
std::unique_ptr<llvm::TargetMachine> createHostTargetMachine();

}  // namespace compiler_gym::llvm_service
