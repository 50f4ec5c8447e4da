#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>

#include "llvm/Support/CodeGen.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

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

/// @return INVALID_ARGUMENT, with the targets that there are, if this LLVM cannot make object files
///     for the target.
[[nodiscard]] grpc::Status checkTargetTriple(const std::string& triple);

/// Makes the module one for another target: its triple, its data layout, and the processor and
/// features that its functions name, which become those that `clang --target=TRIPLE` starts from.
///
/// The code stays that of the source as it was compiled before: sizes of types, and what headers
/// chose by target, do not change.
///
/// @return as checkTargetTriple().
[[nodiscard]] grpc::Status retarget(llvm::Module& module, const std::string& triple);

}  // namespace compiler_gym::llvm_service
