#pragma once

#include <optional>

#include "llvm/ADT/StringRef.h"
#include "llvm/Passes/OptimizationLevel.h"

namespace compiler_gym::llvm_service {

/// The level of that name, from "O1" to "Oz", at which there is something to optimise; or nothing.
std::optional<llvm::OptimizationLevel> levelOf(llvm::StringRef name);

}  // namespace compiler_gym::llvm_service
