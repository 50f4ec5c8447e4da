#include "llvm_service/Optimizer.h"

#include <optional>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm_service/TargetMachine.h"
#include "llvm_service/actions/PassPlugins.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

// Reports each run of a pipeline's elements to a listener.
class PassReporter {
 public:
  PassReporter(llvm::PassInstrumentationCallbacks& callbacks, PassListener& listener)
      : listener_(listener) {
    callbacks.registerBeforeNonSkippedPassCallback(
        [this](llvm::StringRef, llvm::Any) { ++depth_; });
    callbacks.registerAfterPassCallback(
        [this](llvm::StringRef pass, llvm::Any ir, const llvm::PreservedAnalyses& preserved) {
          afterPass(pass, &ir, preserved);
        });
    callbacks.registerAfterPassInvalidatedCallback(
        [this](llvm::StringRef pass, const llvm::PreservedAnalyses& preserved) {
          afterPass(pass, /*ir=*/nullptr, preserved);
        });
  }

 private:
  // Invalidating analyses changes nothing. Passes are nested, with module passes outermost. Among
  // these, only the adaptors that run passes on each function in turn are of interest.
  void afterPass(llvm::StringRef pass, const llvm::Any* ir,
                 const llvm::PreservedAnalyses& preserved) {
    --depth_;
    const bool isOfInterest = pass != llvm::ModuleToFunctionPassAdaptor::name() &&
                              pass != llvm::InvalidateAllAnalysesPass::name();
    if (isOfInterest) {
      listener_.passDone(preserved.areAllPreserved());
    }
    if (depth_ == 0 && isOfInterest) {
      listener_.moduleDone();
    }
    if (depth_ == 1 && ir != nullptr) {
      if (const auto* function = llvm::any_cast<const llvm::Function*>(ir)) {
        listener_.functionDone(**function);
      }
    }
  }

  PassListener& listener_;
  int depth_ = 0;
};

// True if LLVM certainly knows the processor and its features. For a processor without 64-bit mode,
// for example, it ends the process.
bool hasPlainProcessor(const llvm::Function& function) {
  const llvm::StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
  return llvm::is_contained({"", "generic", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"},
                            cpu) &&
         !function.getFnAttribute("target-features").getValueAsString().contains('-');
}

}  // namespace

struct Optimizer::Managers {
  Managers(const llvm::Module& module, llvm::ArrayRef<LoadedPlugin> plugins,
           PassListener* listener);

  const std::unique_ptr<llvm::TargetMachine> targetMachine;
  const llvm::TargetLibraryInfoImpl targetLibraryInfo;
  // Analyses of inner units refer to managers of outer ones: LLVM requires this order of
  // destruction.
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager cgsccAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::StandardInstrumentations instrumentations;
  std::optional<PassReporter> reporter;
  llvm::PassBuilder passBuilder;
};

// By default, `opt` creates its target machine at the code generation level None.
Optimizer::Managers::Managers(const llvm::Module& module, llvm::ArrayRef<LoadedPlugin> plugins,
                              PassListener* listener)
    : targetMachine(createTargetMachine(module, llvm::CodeGenOptLevel::None)),
      targetLibraryInfo(llvm::Triple(module.getTargetTriple())),
      instrumentations(module.getContext(), /*DebugLogging=*/false),
      passBuilder(targetMachine.get(), llvm::PipelineTuningOptions(), std::nullopt, &callbacks) {
  instrumentations.registerCallbacks(callbacks, &moduleAnalyses);
  if (listener != nullptr) {
    reporter.emplace(callbacks, *listener);
  }
  // The first registration of an analysis wins: this one has to precede the general ones.
  functionAnalyses.registerPass([this] { return llvm::TargetLibraryAnalysis(targetLibraryInfo); });
  for (const LoadedPlugin& plugin : plugins) {
    plugin.plugin.registerPassBuilderCallbacks(passBuilder);
  }
  registerOwnPasses(passBuilder);
  passBuilder.registerModuleAnalyses(moduleAnalyses);
  passBuilder.registerCGSCCAnalyses(cgsccAnalyses);
  passBuilder.registerFunctionAnalyses(functionAnalyses);
  passBuilder.registerLoopAnalyses(loopAnalyses);
  passBuilder.crossRegisterProxies(loopAnalyses, functionAnalyses, cgsccAnalyses, moduleAnalyses);
}

Optimizer::Optimizer(llvm::Module& module, llvm::ArrayRef<LoadedPlugin> plugins,
                     PassListener* listener)
    : module_(module), managers_(std::make_unique<Managers>(module, plugins, listener)) {}

Optimizer::~Optimizer() = default;

grpc::Status Optimizer::run(llvm::StringRef pipeline) {
  if (pipeline.empty()) {  // LLVM does not parse an empty pipeline.
    return grpc::Status::OK;
  }
  llvm::ModulePassManager passManager;
  if (llvm::Error error = managers_->passBuilder.parsePassPipeline(passManager, pipeline)) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "LLVM cannot parse the pipeline \"" +
                                                    pipeline.str() +
                                                    "\": " + llvm::toString(std::move(error))};
  }
  passManager.run(module_, managers_->moduleAnalyses);
  return grpc::Status::OK;
}

void Optimizer::describeProcessor() {
  const llvm::TargetMachine* machine = managers_->targetMachine.get();
  if (machine == nullptr || machine->getTargetTriple().getArch() != llvm::Triple::x86_64) return;
  for (const llvm::Function& function : module_) {
    if (!function.isDeclaration() && hasPlainProcessor(function)) {
      machine->getSubtargetImpl(function);
    }
  }
}

}  // namespace compiler_gym::llvm_service
