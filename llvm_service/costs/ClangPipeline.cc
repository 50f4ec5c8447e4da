#include "llvm_service/costs/ClangPipeline.h"

#include <memory>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/Target.h"
#include "llvm_service/costs/CodeSize.h"

namespace compiler_gym::llvm_service {

namespace {

// What clang sets up to run a pipeline.
struct Managers {
  Managers(const llvm::Module& module, const llvm::PipelineTuningOptions& tuning)
      // Position independent as clang's code is: tables of addresses become smaller ones of
      // offsets.
      : machine(createTargetMachine(module, llvm::CodeGenOptLevel::Default, llvm::Reloc::PIC_)),
        libraryInfo(llvm::Triple(module.getTargetTriple())),
        builder(machine.get(), tuning) {
    // The first registration of an analysis wins: this one has to precede the general ones.
    functionAnalyses.registerPass([this] { return llvm::TargetLibraryAnalysis(libraryInfo); });
    builder.registerModuleAnalyses(moduleAnalyses);
    builder.registerCGSCCAnalyses(cgsccAnalyses);
    builder.registerFunctionAnalyses(functionAnalyses);
    builder.registerLoopAnalyses(loopAnalyses);
    builder.crossRegisterProxies(loopAnalyses, functionAnalyses, cgsccAnalyses, moduleAnalyses);
  }

  const std::unique_ptr<llvm::TargetMachine> machine;
  const llvm::TargetLibraryInfoImpl libraryInfo;
  // This order of destruction is LLVM's: analyses of inner units refer to managers of outer ones.
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager cgsccAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassBuilder builder;
};

// Whether the pipeline of -O0 has anything to do in a function. Setting it up would take longer
// than generating the code of a small program.
bool hasMandatoryWork(const llvm::Function& function) {
  const auto mustBeInlined = [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call != nullptr && call->hasFnAttr(llvm::Attribute::AlwaysInline);
  };
  return function.hasFnAttribute(llvm::Attribute::AlwaysInline) || function.isPresplitCoroutine() ||
         llvm::any_of(llvm::instructions(function), mustBeInlined);
}

}  // namespace

bool hasMandatoryWork(const llvm::Module& module) {
  return llvm::any_of(module,
                      [](const llvm::Function& function) { return hasMandatoryWork(function); });
}

void optimizeAsClangForSize(llvm::Module& module) {
  optimizeForSize(module);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.SLPVectorization = true;
  Managers managers(module, tuning);
  managers.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::Oz)
      .run(module, managers.moduleAnalyses);
}

void optimizeAsClangAtO0(llvm::Module& module) {
  if (hasMandatoryWork(module)) {
    Managers managers(module, llvm::PipelineTuningOptions());
    managers.builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
        .run(module, managers.moduleAnalyses);
  }
}

}  // namespace compiler_gym::llvm_service
