#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// Bytes of the "text" column of `llvm-size` in Berkeley format: code and read-only data.
///
/// @param object an object file or executable.
/// @return INVALID_ARGUMENT if it is neither.
[[nodiscard]] grpc::Status textSize(llvm::StringRef object, int64_t& bytes);

/// The text size of the object file that `clang -Oz -c` would make of optimised bitcode: position
/// independent, for the generic processor of the module's target, optimised for size. First it runs
/// the mandatory passes of clang -O0, which inline functions that must be inlined.
///
/// @return INVALID_ARGUMENT if the target is unknown or the code generator rejects the program.
[[nodiscard]] grpc::Status objectTextSize(llvm::StringRef bitcode, int64_t& bytes);

/// The text size of the object file that `clang -O3 -c` would make of bitcode after its passes.
///
/// @return as objectTextSize().
[[nodiscard]] grpc::Status objectTextSizeForSpeed(llvm::StringRef bitcode, int64_t& bytes);

}  // namespace compiler_gym::llvm_service
