#pragma once

#include <functional>

#include "llvm/IR/PassManager.h"
#include "llvm_service/passes/Levels.h"

namespace llvm {
class Module;
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Optimises a module as clang does when it compiles the source at a level, -O1 and higher. The
/// levels -Os and -Oz include the attributes that tell every pass to prefer small code.
///
/// The text `default<Oz>` of `opt` differs from it: without these attributes, without vectors of
/// straight code, which clang makes at -Oz too, and for code that is not position independent; and
/// `default<O1>` unrolls loops.
///
/// LLVM 23 has no pipelines of -Os and -Oz any more: there these levels are that of -O2, with these
/// attributes, for clang and for `opt`. See defaultPipeline().
///
/// @param prepare is called before analyses are registered and the pipeline is built, to add to
///     them, unless it is empty.
using PreparePipeline = std::function<void(llvm::PassBuilder&, llvm::ModuleAnalysisManager&)>;
void optimizeAsClang(llvm::Module& module, ClangLevel level,
                     const PreparePipeline& prepare = nullptr);

/// True if clang has something to do to a module at every level, -O0 included: functions that must
/// be inlined, or coroutines to be split.
bool hasMandatoryWork(const llvm::Module& module);

/// Inlines and splits what clang must at -O0. Other modules are left as they are.
void optimizeAsClangAtO0(llvm::Module& module);

}  // namespace compiler_gym::llvm_service
