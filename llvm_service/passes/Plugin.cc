// The passes of this project as a plugin: `opt -load-pass-plugin=compiler_gym-llvm-passes.so`, or
// `clang -fpass-plugin=compiler_gym-llvm-passes.so`.
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm_service/passes/CompilerTools.h"
#include "llvm_service/passes/FunctionSettings.h"
#include "llvm_service/passes/FunctionTraits.h"
#include "llvm_service/passes/InlineDecisions.h"
#include "llvm_service/passes/Loops.h"
#include "llvm_service/passes/OwnPass.h"
#include "llvm_service/passes/PluginInfo.h"
#include "llvm_service/passes/WeakSymbols.h"

namespace {

using llvm::ModulePassManager;
using llvm::PassBuilder;

// clang accepts the option if it has loaded the plugin with `-Xclang -load -Xclang FILE`, too.
llvm::cl::opt<std::string> firstPasses(
    "first-passes", llvm::cl::desc("Passes to run before those of a level of optimisation"));

void addFirstPasses(PassBuilder& passBuilder, ModulePassManager& manager) {
  if (firstPasses.empty()) {
    return;
  }
  if (llvm::Error error = passBuilder.parsePassPipeline(manager, firstPasses)) {
    llvm::report_fatal_error("-first-passes: " + llvm::Twine(llvm::toString(std::move(error))),
                             /*gen_crash_diag=*/false);
  }
}

void registerAll(PassBuilder& passBuilder) {
  compiler_gym::llvm_service::registerOwnPasses(passBuilder);
  compiler_gym::llvm_service::registerCompilerTools(passBuilder);
  compiler_gym::llvm_service::registerFunctionSettings(passBuilder);
  compiler_gym::llvm_service::registerFunctionTraits(passBuilder);
  compiler_gym::llvm_service::registerInlineDecisions(passBuilder);
  compiler_gym::llvm_service::registerLoopTools(passBuilder);
  compiler_gym::llvm_service::registerWeakSymbols(passBuilder);
  passBuilder.registerPipelineStartEPCallback(
      [&passBuilder](ModulePassManager& manager, llvm::OptimizationLevel /*level*/) {
        addFirstPasses(passBuilder, manager);
      });
}

}  // namespace

extern "C" llvm::PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK llvmGetPassPluginInfo() {
  return compiler_gym::llvm_service::pluginInfo("compiler_gym-llvm-passes", registerAll);
}
