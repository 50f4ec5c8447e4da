#pragma once

#include <grpcpp/support/status.h>

#include <memory>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm_service/PassListener.h"

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

struct LoadedPlugin;

/// Runs passes on one module as one run of the `opt` program would.
///
/// The analysis managers live as long as the optimizer, so run("a") followed by run("b") does what
/// `opt -passes='module(a,b)'` does: passes may do more when an analysis happens to be cached, and
/// so neither the managers nor the module may be replaced between two passes.
class Optimizer {
 public:
  /// @param module must outlive the optimizer.
  /// @param plugins Plugins with further passes, besides LLVM's and the project's own.
  /// @param listener Is notified of the passes that were run; may be null.
  explicit Optimizer(llvm::Module& module, llvm::ArrayRef<LoadedPlugin> plugins = {},
                     PassListener* listener = nullptr);

  ~Optimizer();

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Runs a pipeline, e.g. "function(sroa)" or "default<Oz>". An empty one does nothing.
  ///
  /// Does not return the analyses that the passes claim to preserve, because several claim too
  /// much.
  ///
  /// @return INVALID_ARGUMENT if LLVM cannot parse the pipeline.
  [[nodiscard]] grpc::Status run(llvm::StringRef pipeline);

  /// Makes LLVM's description of the processor now, which the first pass that asks for it would do.
  /// It takes as long as several passes on a small program, and copies of the process share it.
  /// Leaves out functions for which LLVM might end the process, as a pass would on them.
  void describeProcessor();

 private:
  // LLVM's headers of the pass managers cost more to compile than all others together.
  struct Managers;

  llvm::Module& module_;
  const std::unique_ptr<Managers> managers_;
};

}  // namespace compiler_gym::llvm_service
