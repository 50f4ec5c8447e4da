#pragma once

#include "llvm_service/passes/Levels.h"

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// Gives every function definition the attributes with which clang compiles it at a level for size,
/// so that passes and code generation prefer small code: optsize at -Os, minsize as well at -Oz.
/// None at other levels, and none to functions that are not to be optimised.
///
/// @return true if a function lacked one.
bool markForSize(llvm::Module& module, const ClangLevel& level = *levelOf("Oz"));

}  // namespace compiler_gym::llvm_service
