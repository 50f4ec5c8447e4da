#pragma once

#include <grpcpp/support/status.h>

#include <string>

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// The version of LLVM and its default target, e.g. "22.1.8 x86_64-pc-linux-gnu".
std::string versionOfLlvm();

/// @return INVALID_ARGUMENT, with the list of targets, if this LLVM cannot make object files for
///     the target.
[[nodiscard]] grpc::Status checkTargetTriple(const std::string& triple);

/// Changes the target of the module: its triple, its data layout, and the processor and features of
/// its functions, which become the defaults of `clang --target=TRIPLE`.
///
/// The code remains as it was compiled before: sizes of types, and target-dependent parts of
/// headers, do not change.
///
/// @return as checkTargetTriple().
[[nodiscard]] grpc::Status retarget(llvm::Module& module, const std::string& triple);

}  // namespace compiler_gym::llvm_service
