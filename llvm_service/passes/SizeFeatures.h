#pragma once

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/PassManager.h"
#include "llvm_service/passes/FunctionTraits.h"

namespace llvm {
class CallBase;
class Function;
class Module;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Numbers by name. A number that is missing is 0.
using Features = llvm::StringMap<double>;

/// Returns the features of a function: LLVM's counts, counts of opcodes and operands, and what its
/// declaration says. Debugging information has no effect on them.
Features featuresOf(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

/// The calls about whose inlining can be decided, by the called function.
using CallsByCallee = llvm::MapVector<llvm::Function*, llvm::SmallVector<llvm::CallBase*, 4>>;

/// Returns these calls. Callers and callees are marked for the smallest code, and neither is
/// excluded.
CallsByCallee decidableCalls(llvm::Module& module, const ModuleTraits& traits,
                             llvm::FunctionAnalysisManager& analyses);

/// Returns the features of a called function, of its calls and of their callers.
Features featuresOfCalls(llvm::Function& callee, llvm::ArrayRef<llvm::CallBase*> calls,
                         llvm::FunctionAnalysisManager& analyses);

}  // namespace compiler_gym::llvm_service
