#pragma once

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// Optimises a module as `clang -Oz` does when it compiles the source: with the attributes that
/// tell every pass to prefer small code, and with clang's choice of passes at this level, which,
/// unlike that of `opt`, vectorises straight code but neither vectorises nor unrolls loops.
void optimizeAsClangForSize(llvm::Module& module);

}  // namespace compiler_gym::llvm_service
