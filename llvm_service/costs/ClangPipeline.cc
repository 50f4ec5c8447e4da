#include "llvm_service/costs/ClangPipeline.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/Target.h"
#include "llvm_service/costs/CodeSize.h"

namespace compiler_gym::llvm_service {

void optimizeAsClangForSize(llvm::Module& module) {
  optimizeForSize(module);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.SLPVectorization = true;
  // Position independent as clang's code is: tables of addresses become smaller ones of offsets.
  const auto machine =
      createTargetMachine(module, llvm::CodeGenOptLevel::Default, llvm::Reloc::PIC_);
  const llvm::TargetLibraryInfoImpl libraryInfo(llvm::Triple(module.getTargetTriple()));
  // This order of destruction is LLVM's: analyses of inner units refer to managers of outer ones.
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager cgsccAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassBuilder builder(machine.get(), tuning);
  // The first registration of an analysis wins: this one has to precede the general ones.
  functionAnalyses.registerPass([&] { return llvm::TargetLibraryAnalysis(libraryInfo); });
  builder.registerModuleAnalyses(moduleAnalyses);
  builder.registerCGSCCAnalyses(cgsccAnalyses);
  builder.registerFunctionAnalyses(functionAnalyses);
  builder.registerLoopAnalyses(loopAnalyses);
  builder.crossRegisterProxies(loopAnalyses, functionAnalyses, cgsccAnalyses, moduleAnalyses);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::Oz).run(module, moduleAnalyses);
}

}  // namespace compiler_gym::llvm_service
