#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llvm_service/ChangeTracker.h"
#include "llvm_service/Ir.h"
#include "llvm_service/Optimizer.h"
#include "llvm_service/Program.h"
#include "llvm_service/RemarkReplay.h"
#include "llvm_service/actions/Action.h"
#include "llvm_service/benchmark/Executable.h"

namespace compiler_gym::llvm_service {

/// The conditions for running LLVM's verifier on the module.
enum class Verification {
  /// After every action that changed the module.
  kAlways,
  /// Before the changed module leaves the service or is compiled: as text, bitcode or machine code;
  /// and after each pass that is not LLVM's own or that the policy distrusts, so that the culprit
  /// is named. Counting
  /// instructions does not need a valid module, and costs less than verifying it.
  kOnExport,
  kNever,
};

/// A program under compilation: the module that actions change and observations look at.
class Compilation {
 public:
  /// @param workingDirectory the parent of scratch directories.
  /// @param plugins whose passes can be applied; must outlive the compilation.
  [[nodiscard]] static grpc::Status start(std::shared_ptr<const Program> program,
                                          const boost::filesystem::path& workingDirectory,
                                          std::unique_ptr<Compilation>& compilation,
                                          llvm::ArrayRef<LoadedPlugin> plugins = {});

  /// Starts with a module that others derived from the program. That does not count as a change.
  ///
  /// @param owned the result of parseIr() for the program's bitcode, possibly changed by passes.
  [[nodiscard]] static std::unique_ptr<Compilation> startOn(
      std::shared_ptr<const Program> program, OwnedModule owned,
      const boost::filesystem::path& workingDirectory, llvm::ArrayRef<LoadedPlugin> plugins = {});

  /// Runs one action.
  ///
  /// @param action must outlive the compilation, whose history refers to it.
  /// @param changed Set to true if the module's bitcode is different now, independent of the pass's
  ///     claim.
  [[nodiscard]] grpc::Status apply(const Action& action, bool& changed);
  grpc::Status apply(const Action&& temporary, bool& changed) = delete;

  /// Runs one action without looking for changes. The next action or query finds the changes of
  /// both.
  [[nodiscard]] grpc::Status applyUnjudged(const Action& action);
  grpc::Status applyUnjudged(const Action&& temporary) = delete;

  /// The program that the compilation started from.
  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& sharedProgram() const { return program_; }

  /// The module, for reading only. Code that would add to it or to its context must use a copy,
  /// because later passes must do the same as in `opt`.
  const llvm::Module& module() const { return *owned_.module; }

  /// Counts the changes of the module. Observations of the same version are equal.
  uint64_t version();

  /// The actions so far, including those that failed or did nothing.
  const std::vector<const Action*>& history() const { return history_; }

  /// The changes made by the last action.
  const ModuleChange& lastChange();

  /// The number of instructions of the module.
  uint64_t instructionCount();

  /// The functions of the module, of which only their addresses and versions are current.
  llvm::ArrayRef<ChangeTracker::Function> versionsOfFunctions();

  /// Does work that apply() has left to the next action or query. To be called when nobody waits.
  void catchUp() { tracker_.catchUp(); }

  /// The remarks of the last action, see RemarkReplay.
  [[nodiscard]] grpc::Status lastRemarks(const std::vector<Remark>** remarks) {
    return remarkReplay_.remarksOfLast(program_->bitcode(), history_, remarks);
  }

  /// The module's bitcode. Valid until the next action.
  const std::string& bitcode();

  /// @return DATA_LOSS if the module is invalid. Checked once for each version.
  [[nodiscard]] grpc::Status verify();

  /// The program as a file that can be built and run.
  Executable& executable() { return executable_; }

  /// Builds the current module, once for each version.
  ///
  /// @param seconds the duration of the build.
  [[nodiscard]] grpc::Status build(double& seconds);

  const boost::filesystem::path& workingDirectory() const { return workingDirectory_; }

 private:
  [[nodiscard]] grpc::Status run(const Action& action);
  void judge();

  struct Build {
    uint64_t version;
    double seconds;
  };

  Compilation(std::shared_ptr<const Program> program, OwnedModule owned,
              const boost::filesystem::path& workingDirectory,
              llvm::ArrayRef<LoadedPlugin> plugins);

  const std::shared_ptr<const Program> program_;
  const boost::filesystem::path workingDirectory_;
  OwnedModule owned_;
  ChangeTracker tracker_;
  Optimizer optimizer_;
  Executable executable_;
  RemarkReplay remarkReplay_;
  std::vector<const Action*> history_;
  bool isJudged_ = true;
  uint64_t version_ = 0;
  uint64_t verifiedVersion_ = 0;  // The program was verified when it was loaded.
  std::optional<std::pair<uint64_t, std::string>> bitcode_;
  std::optional<Build> build_;
};

}  // namespace compiler_gym::llvm_service
