#include "llvm/Passes/PassBuilder.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::ModulePassManager;
using llvm::OptimizationLevel;
using llvm::PassBuilder;

constexpr auto kPhase = llvm::ThinOrFullLTOPhase::None;

using AddStage = std::function<void(PassBuilder&, OptimizationLevel, ModulePassManager&)>;

// Sets the tuning options of `default<...>`, which vectorises from -O2 on, but not at -Oz. Only
// parsing that text sets them.
void tuneFor(llvm::StringRef level, PassBuilder& passBuilder) {
  ModulePassManager unused;
  llvm::cantFail(passBuilder.parsePassPipeline(unused, defaultPipeline(level)));
}

OwnPass makeStage(const std::string& name, std::string description, AddStage addStage) {
  const auto add = [addStage](PassBuilder& passBuilder, llvm::StringRef parameter,
                              ModulePassManager& manager) {
    const std::optional<ClangLevel> level = levelOf(parameter);
    if (level) {
      tuneFor(parameter, passBuilder);
      addStage(passBuilder, level->pipeline, manager);
    }
    return level.has_value();
  };
  return {name,
          std::move(description),
          PassLevel::kModule,
          byParameter(name, add),
          {"O1", "O2", "O3", "Os", "Oz"},
          OwnPass::Spaces::kPipelines};
}

}  // namespace

// LLVM's default pipelines consist of simplification, then optimisation; the inliner, and within it
// the simplification of functions, are parts of the former. LLVM has no texts for these four.

OwnPass moduleSimplificationStage() {
  return makeStage(
      "module-simplification-stage",
      "The first half of the default pipeline: makes the program canonical and "
      "simple, and inlines",
      [](PassBuilder& passBuilder, OptimizationLevel level, ModulePassManager& manager) {
        manager.addPass(passBuilder.buildModuleSimplificationPipeline(level, kPhase));
      });
}

OwnPass inlinerStage() {
  return makeStage(
      "inliner-stage",
      "The inliner of the default pipeline, which simplifies each function before its "
      "callers",
      [](PassBuilder& passBuilder, OptimizationLevel level, ModulePassManager& manager) {
        manager.addPass(passBuilder.buildInlinerPipeline(level, kPhase));
      });
}

OwnPass functionSimplificationStage() {
  return makeStage(
      "function-simplification-stage",
      "What the default pipeline does to each function while it inlines, without any "
      "inlining",
      [](PassBuilder& passBuilder, OptimizationLevel level, ModulePassManager& manager) {
        manager.addPass(llvm::createModuleToFunctionPassAdaptor(
            passBuilder.buildFunctionSimplificationPipeline(level, kPhase)));
      });
}

OwnPass moduleOptimizationStage() {
  return makeStage(
      "module-optimization-stage",
      "The second half of the default pipeline: vectorises, unrolls, and cleans up "
      "towards machine code",
      [](PassBuilder& passBuilder, OptimizationLevel level, ModulePassManager& manager) {
        manager.addPass(passBuilder.buildModuleOptimizationPipeline(level, kPhase));
      });
}

}  // namespace compiler_gym::llvm_service
