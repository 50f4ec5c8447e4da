#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// A static estimate of the processor cycles of one run of the program, rounded.
///
/// The cycles of a function are the sum over its instructions of LLVM's cost of the instruction on
/// the module's target (TargetTransformInfo, reciprocal throughput; the generic processor unless
/// the function names one) times how often its block runs for one call of the function (LLVM's
/// block frequencies, which without a profile are guesses: about 31 rounds for a loop). A call of a
/// function with a body adds the cycles of that function, so inlining does not hide work; a
/// recursive call adds those of one level.
///
/// The program's cycles are those of `main`, or without it of all functions that can be called from
/// outside, plus in either case those whose address is taken, once each. At most 2^62.
///
/// It ignores calls through pointers, caches, branch prediction, and actual iteration counts. A
/// loop unrolled by a factor that may not divide its iterations is assumed to have the same number
/// of iterations, so unrolling looks like more work.
int64_t cyclesEstimate(const llvm::Module& module);

}  // namespace compiler_gym::llvm_service
