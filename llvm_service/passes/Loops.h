#pragma once

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Registers the passes by which `compiler-gym optimize --objective runtime` directs loops. They
/// are part of the plugin only, like those of CompilerTools.h.
///
/// - `list-loops` prints the loops of functions that are optimised, a line of JSON for each: its
///   number (`index`), its `function`, its `depth` from 1, and whether it is `innermost`. If the
///   module has a profile, there are also `count`, the executions of its first block, and `work`,
///   the executed instructions outside of inner loops.
/// - `set-loops<0=unroll.count:4;2=vectorize.disable+interleave.count:2>` gives hints to loops by
///   their numbers. All of them are within what LLVM may choose by itself. In particular no hint
///   asks for vectors, because LLVM then reorders arithmetic on floating-point numbers.
void registerLoopTools(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
