#include "llvm_service/passes/ClangPipeline.h"

#include <memory>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/TargetMachine.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"
#include "llvm_service/passes/SizeMarks.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::OptimizationLevel;

// The tuning options that clang chooses, see CodeGenOptions of clang.
llvm::PipelineTuningOptions tuningOf(ClangLevel level) {
  llvm::PipelineTuningOptions tuning;
  const bool isFast = speedOf(level.pipeline) > 1;
  tuning.LoopUnrolling = isFast;
  tuning.LoopInterleaving = isFast;
  tuning.SLPVectorization = isFast;
  tuning.LoopVectorization = isFast && level.size < 2;
#if LLVM_VERSION_MAJOR >= 23  // opt interchanges loops since then, and clang does not.
  tuning.LoopInterchange = false;
#endif
  return tuning;
}

llvm::CodeGenOptLevel codeLevelOf(OptimizationLevel level) {
  switch (speedOf(level)) {
    case 0:
      return llvm::CodeGenOptLevel::None;
    case 1:
      return llvm::CodeGenOptLevel::Less;
    case 2:
      return llvm::CodeGenOptLevel::Default;
    default:
      return llvm::CodeGenOptLevel::Aggressive;
  }
}

// The objects that clang sets up to run a pipeline.
struct Managers {
  Managers(llvm::Module& module, ClangLevel level, const PreparePipeline& prepare = nullptr)
      // Position independent, as in clang: tables of addresses become smaller tables of offsets.
      : machine(createTargetMachine(module, codeLevelOf(level.pipeline), llvm::Reloc::PIC_)),
        libraryInfo(llvm::Triple(module.getTargetTriple())),
        instrumentations(module.getContext(), /*DebugLogging=*/false),
        builder(machine.get(), tuningOf(level), std::nullopt, &callbacks) {
    // These callbacks skip functions that must not be optimised.
    instrumentations.registerCallbacks(callbacks, &moduleAnalyses);
    // The first registration of an analysis wins, so these precede the general ones.
    functionAnalyses.registerPass([this] { return llvm::TargetLibraryAnalysis(libraryInfo); });
    if (prepare) prepare(builder, moduleAnalyses);
    builder.registerModuleAnalyses(moduleAnalyses);
    builder.registerCGSCCAnalyses(cgsccAnalyses);
    builder.registerFunctionAnalyses(functionAnalyses);
    builder.registerLoopAnalyses(loopAnalyses);
    builder.crossRegisterProxies(loopAnalyses, functionAnalyses, cgsccAnalyses, moduleAnalyses);
  }

  const std::unique_ptr<llvm::TargetMachine> machine;
  const llvm::TargetLibraryInfoImpl libraryInfo;
  // LLVM requires this order of destruction: analyses of inner units refer to managers of outer
  // ones.
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager cgsccAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::StandardInstrumentations instrumentations;
  llvm::PassBuilder builder;
};

struct ClangPipeline : llvm::PassInfoMixin<ClangPipeline> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
    optimizeAsClang(module, level);
    return llvm::PreservedAnalyses::none();
  }

  ClangLevel level;
};

bool addPipeline(llvm::PassBuilder& /*passBuilder*/, llvm::StringRef parameter,
                 llvm::ModulePassManager& manager) {
  const std::optional<ClangLevel> level = levelOf(parameter);
  if (level) {
    ClangPipeline pass;
    pass.level = *level;
    manager.addPass(std::move(pass));
  }
  return level.has_value();
}

// True if the pipeline of -O0 has work in a function. Setting up the pipeline would take longer
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

void optimizeAsClang(llvm::Module& module, ClangLevel level, const PreparePipeline& prepare) {
  markForSize(module, level);
  Managers managers(module, level, prepare);
  managers.builder.buildPerModuleDefaultPipeline(level.pipeline)
      .run(module, managers.moduleAnalyses);
}

void optimizeAsClangAtO0(llvm::Module& module) {
  if (hasMandatoryWork(module)) {
    Managers managers(module, ClangLevel{OptimizationLevel::O0});
    managers.builder.buildO0DefaultPipeline(OptimizationLevel::O0)
        .run(module, managers.moduleAnalyses);
  }
}

/// Clang's own pipelines, in a pass: `opt` has no text for them, and plugins cannot change the
/// meaning of its texts. They equal clang's pipelines without plugins.
OwnPass clangPipeline() {
  const std::string name = "clang";
  return {name,
          "All that clang itself does to the program's IR at this level",
          PassLevel::kModule,
          byParameter(name, addPipeline),
          {"O1", "O2", "O3", "Os", "Oz"},
          OwnPass::Spaces::kPipelines};
}

}  // namespace compiler_gym::llvm_service
