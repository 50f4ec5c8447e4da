#pragma once

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Registers what makes the code of one run of `clang -Oz` smaller: a pass at the start of the
/// pipeline decides about calls and adjusts functions, and one at its end adjusts functions for the
/// generation of machine code. A model of the target predicts what saves bytes.
///
/// - Functions without the attribute `minsize`, and those that FunctionTraits excludes, stay as
///   they are, and so does code for targets without a model.
/// - With link-time optimisation, there is only the first pass, in the compilation of the source.
/// - `-oz-model=FILE` replaces the models of the plugin, and `-oz-list` prints the features
/// instead.
void registerSizeDecisions(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
