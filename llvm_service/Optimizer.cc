#include "llvm_service/Optimizer.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Support/Error.h"
#include "llvm_service/Target.h"
#include "llvm_service/actions/PassPlugins.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

// `opt` makes its target machine at the code generation level None unless told otherwise.
Optimizer::Optimizer(llvm::Module& module, llvm::ArrayRef<LoadedPlugin> plugins)
    : module_(module),
      targetMachine_(createTargetMachine(module, llvm::CodeGenOptLevel::None)),
      targetLibraryInfo_(llvm::Triple(module.getTargetTriple())),
      instrumentations_(module.getContext(), /*DebugLogging=*/false),
      passBuilder_(targetMachine_.get(), llvm::PipelineTuningOptions(), std::nullopt, &callbacks_) {
  instrumentations_.registerCallbacks(callbacks_, &moduleAnalyses_);
  // The first registration of an analysis wins: this one has to precede the general ones.
  functionAnalyses_.registerPass(
      [this] { return llvm::TargetLibraryAnalysis(targetLibraryInfo_); });
  for (const LoadedPlugin& plugin : plugins) {
    plugin.plugin.registerPassBuilderCallbacks(passBuilder_);
  }
  registerOwnPasses(passBuilder_);
  passBuilder_.registerModuleAnalyses(moduleAnalyses_);
  passBuilder_.registerCGSCCAnalyses(cgsccAnalyses_);
  passBuilder_.registerFunctionAnalyses(functionAnalyses_);
  passBuilder_.registerLoopAnalyses(loopAnalyses_);
  passBuilder_.crossRegisterProxies(loopAnalyses_, functionAnalyses_, cgsccAnalyses_,
                                    moduleAnalyses_);
}

grpc::Status Optimizer::run(llvm::StringRef pipeline) {
  if (pipeline.empty()) {  // Which LLVM does not parse.
    return grpc::Status::OK;
  }
  llvm::ModulePassManager passManager;
  if (llvm::Error error = passBuilder_.parsePassPipeline(passManager, pipeline)) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "LLVM cannot parse the pipeline \"" +
                                                    pipeline.str() +
                                                    "\": " + llvm::toString(std::move(error))};
  }
  passManager.run(module_, moduleAnalyses_);
  return grpc::Status::OK;
}

}  // namespace compiler_gym::llvm_service
