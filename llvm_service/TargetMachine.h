#pragma once

#include <memory>
#include <optional>

#include "llvm/Support/CodeGen.h"

namespace llvm {
class Module;
class Target;
class TargetMachine;
class Triple;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Registers LLVM's targets in this process. Idempotent and thread-safe.
void initializeTargets();

/// The target of a triple, or null if this LLVM has no such target.
const llvm::Target* lookUpTarget(const llvm::Triple& triple);

/// Returns the target machine of `opt` and `llc` for the module without further flags.
///
/// @param relocation the relocation model; unset for the target's default.
/// @return null if this LLVM has no such target.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(
    const llvm::Module& module, llvm::CodeGenOptLevel level,
    std::optional<llvm::Reloc::Model> relocation = std::nullopt);

/// Returns the target machine of `opt` for a module for this machine.
std::unique_ptr<llvm::TargetMachine> createHostTargetMachine();

}  // namespace compiler_gym::llvm_service
