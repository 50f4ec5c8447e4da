#pragma once

#include <grpcpp/support/status.h>

#include <string>

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// The version of LLVM and its default target, e.g. "22.1.8 x86_64-pc-linux-gnu".
std::string versionOfLlvm();

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
