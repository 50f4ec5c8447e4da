#pragma once

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// Optimises a module as `clang -Oz` does when it compiles the source: with the attributes that
/// tell every pass to prefer small code, and with clang's choice of passes at this level, which,
/// unlike that of `opt`, vectorises straight code but neither vectorises nor unrolls loops.
void optimizeAsClangForSize(llvm::Module& module);

/// Whether clang has something to do to a module at every level, -O0 included: functions that must
/// be inlined, or coroutines to be split.
bool hasMandatoryWork(const llvm::Module& module);

/// Does that. Modules without either are left as they are.
void optimizeAsClangAtO0(llvm::Module& module);

}  // namespace compiler_gym::llvm_service
