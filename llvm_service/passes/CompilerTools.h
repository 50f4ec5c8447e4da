#pragma once

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Registers the passes by which `compiler-gym optimize` inspects and directs clang. They are part
/// of the plugin only and not actions, because they only direct other passes.
///
/// - `list-call-sites` prints the calls about whose inlining can be decided, a line of JSON for
///   each: its number (`index`), `caller`, `callee`, whether the callee is `local`, and the
///   callee's number of instructions (`size`). If the module has a profile, there is also `count`,
///   the executions of the call.
/// - `set-call-sites<3=inline;5=noinline>` decides about calls by their numbers. LLVM's inliners
///   heed that wherever a call is copied to.
/// - `set-attribute<minsize>`, `set-attribute<tune-cpu=nocona>` gives an attribute to all functions
///   but those that are not to be optimised.
void registerCompilerTools(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
