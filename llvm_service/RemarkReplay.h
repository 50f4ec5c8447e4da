#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "llvm_service/Ir.h"
#include "llvm_service/Optimizer.h"
#include "llvm_service/actions/Action.h"

namespace compiler_gym::llvm_service {

/// A report of a pass about one place in the program.
struct Remark {
  /// "passed" for a transformation, "missed" for a missed one, "analysis" for a reason, "failure"
  /// for a requested transformation that failed.
  std::string kind;
  /// The name of the pass in LLVM's remarks, e.g. "inline", and of the remark, e.g. "Inlined".
  std::string pass;
  std::string name;
  std::string function;
  std::string message;
};

/// Collects the remarks of the last action by repeating all actions on a copy of the program.
///
/// The program itself is compiled silently, as `opt` does it: some passes compute more when they
/// report, and later passes may do more when an analysis happens to be there already. The copy
/// reports only in the last action. It is kept, so that asking after every action costs one more
/// run of each action, and never asking costs nothing.
class RemarkReplay {
 public:
  /// @param plugins whose passes can be run; must outlive the replay.
  explicit RemarkReplay(llvm::ArrayRef<LoadedPlugin> plugins = {}) : plugins_(plugins) {}

  /// @param history The actions so far. It must begin with the history of the last call.
  /// @param remarks those of the last action in the order of reporting; valid until the next
  ///     call, and empty if nothing has been run.
  /// @return the error of a pipeline or of parsing the program.
  [[nodiscard]] grpc::Status remarksOfLast(const std::string& program,
                                           const std::vector<const Action*>& history,
                                           const std::vector<Remark>** remarks);

  /// The copy after the last call.
  const llvm::Module& module() const { return *owned_.module; }

 private:
  [[nodiscard]] grpc::Status run(const std::string& pipeline, bool isLast);

  const llvm::ArrayRef<LoadedPlugin> plugins_;
  OwnedModule owned_;
  std::unique_ptr<Optimizer> optimizer_;
  size_t done_ = 0;
  std::vector<Remark> remarks_;
};

}  // namespace compiler_gym::llvm_service
