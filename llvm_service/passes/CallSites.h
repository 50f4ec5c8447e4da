#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class CallBase;
class Function;
class Module;
class TargetTransformInfo;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// The calls, by name, of functions that the module defines. Their numbers are their places here,
/// so what is listed depends on nothing but the program.
llvm::SmallVector<llvm::CallBase*> callSites(llvm::Module& module);

/// The functions that call themselves, directly or through others.
llvm::DenseSet<const llvm::Function*> recursiveFunctions(llvm::Module& module);

/// The target information of a function.
using TargetInfo = llvm::function_ref<const llvm::TargetTransformInfo&(llvm::Function&)>;

/// The numbers of the calls about whose inlining can be decided: their callees do not call
/// themselves, directly or through others, and neither the program nor the target forbids or
/// demands it.
std::vector<size_t> openCallSites(llvm::Module& module, TargetInfo targetOf);

/// The number of arguments of a call that are constants.
int64_t constantsOf(const llvm::CallBase& call);

/// The number of uses of a function that are not direct calls of it.
int64_t otherUsesOf(const llvm::Function& function);

/// Decides whether a call is inlined, by its attributes.
void decideCall(llvm::CallBase& call, bool inlined);

}  // namespace compiler_gym::llvm_service
