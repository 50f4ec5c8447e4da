#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Target/TargetMachine.h"

namespace compiler_gym::llvm_service {

struct LoadedPlugin;

/// Runs passes on one module as one run of the `opt` program would.
///
/// The analysis managers live as long as the optimizer, so run("a") followed by run("b") does what
/// `opt -passes='module(a,b)'` does: passes may do more when an analysis happens to be cached, and
/// therefore neither the managers nor the module may be exchanged between two passes.
class Optimizer {
 public:
  /// @param module must outlive the optimizer.
  /// @param plugins whose passes are known too, besides LLVM's and the project's own.
  explicit Optimizer(llvm::Module& module, llvm::ArrayRef<LoadedPlugin> plugins = {});

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Runs a pipeline, e.g. "function(sroa)" or "default<Oz>". An empty one does nothing.
  ///
  /// What its passes claim to have preserved is not told: several claim too much.
  ///
  /// @return INVALID_ARGUMENT if LLVM cannot parse the pipeline.
  [[nodiscard]] grpc::Status run(llvm::StringRef pipeline);

 private:
  llvm::Module& module_;
  const std::unique_ptr<llvm::TargetMachine> targetMachine_;
  const llvm::TargetLibraryInfoImpl targetLibraryInfo_;
  // Analyses of inner units refer to managers of outer ones: this order of destruction is LLVM's.
  llvm::LoopAnalysisManager loopAnalyses_;
  llvm::FunctionAnalysisManager functionAnalyses_;
  llvm::CGSCCAnalysisManager cgsccAnalyses_;
  llvm::ModuleAnalysisManager moduleAnalyses_;
  llvm::PassInstrumentationCallbacks callbacks_;
  llvm::StandardInstrumentations instrumentations_;
  llvm::PassBuilder passBuilder_;
};

}  // namespace compiler_gym::llvm_service
