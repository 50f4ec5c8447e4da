#pragma once

#include <grpcpp/support/status.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "llvm_service/costs/BaselineFile.h"
#include "llvm_service/costs/SharedCosts.h"

namespace compiler_gym::llvm_service {

/// The optimisation levels that results are compared with.
enum class Baseline { kO0, kO3, kOz };

/// The suffix of the observations of a baseline: "O0", "O3" or "Oz".
const char* nameOf(Baseline baseline);

/// The key of baseline costs.
struct CostTraits {
  /// True if the baselines are clang's pipelines (see ClangPipeline.h) instead of those of `opt`,
  /// so that they show what users of clang get. At -Oz, clang marks all functions for size. Without
  /// the marks the machine code is about ten percent larger.
  bool ofMachineCode = false;
  /// True if the cost depends on the bitcode alone, so that it can be kept between runs. The
  /// results of a program's build commands depend on other files of the machine.
  bool ofContentAlone = false;
};

/// A program before any action. Immutable except for its caches, and not thread-safe.
///
/// The program is taken in as follows: debug information and module-level named metadata are
/// removed, value names are dropped, and the module's name and source file become "-", so that a
/// player cannot recognise a program by anything but its code. From LLVM 23 on, "llvm.errno.tbaa"
/// stays, which passes read. A program that names no target is taken to be for this machine.
class Program {
 public:
  /// Computes a cost of a program given as bitcode.
  using Cost = std::function<grpc::Status(const std::string& bitcode, int64_t& value)>;

  /// @param maxBytes the largest program accepted, in bytes.
  /// @return NOT_FOUND if the benchmark names a file that does not exist; INVALID_ARGUMENT if it
  ///     is empty or cannot be parsed; DATA_LOSS if LLVM's verifier rejects it;
  ///     RESOURCE_EXHAUSTED if it is larger than maxBytes.
  /// @param costs The cache of costs.
  /// @param baselineFile The file for costs of baselines between runs; may be null.
  [[nodiscard]] static grpc::Status load(
      const Benchmark& benchmark, size_t maxBytes, std::shared_ptr<const Program>& program,
      std::shared_ptr<SharedCosts> costs = std::make_shared<SharedCosts>(),
      std::shared_ptr<const BaselineFile> baselineFile = nullptr);

  /// The same program for another target; see retarget() in Target.h. It cannot be built or run
  /// any more: the commands are those of this machine.
  ///
  /// @return INVALID_ARGUMENT if this LLVM does not know the target.
  [[nodiscard]] grpc::Status forTarget(const std::string& triple,
                                       std::shared_ptr<const Program>& program) const;

  /// The bitcode that every session on this program starts from.
  const std::string& bitcode() const { return bitcode_; }

  /// The build and run commands.
  const BenchmarkDynamicConfig& dynamicConfig() const { return dynamicConfig_; }

  /// The cost of any module of this program. It is computed once for each content, and shared by
  /// all sessions.
  ///
  /// @param name tells costs apart.
  [[nodiscard]] grpc::Status costOf(const std::string& bitcode, const std::string& name,
                                    const Cost& cost, int64_t& value) const;

  /// The cost of the program optimised by a baseline. Computed on first use and kept; errors are
  /// not.
  ///
  /// @param name tells costs apart.
  [[nodiscard]] grpc::Status baselineCost(Baseline baseline, const std::string& name,
                                          const Cost& cost, int64_t& value,
                                          CostTraits traits = {}) const;

  /// The numbers of baseline costs that were computed, and that were read from the file instead, in
  /// all processes that share the costs: "computed=3 read=6".
  std::string describeBaselines() const;

 private:
  Program(std::string bitcode, BenchmarkDynamicConfig dynamicConfig,
          std::shared_ptr<SharedCosts> costs, std::shared_ptr<const BaselineFile> baselineFile);

  SharedCosts::Key keyOf(const std::string& bitcode, const std::string& name) const;
  [[nodiscard]] grpc::Status optimised(Baseline baseline, bool ofMachineCode,
                                       const std::string** bitcode) const;
  const BaselineFile::Hash& hash() const;

  const std::string bitcode_;
  const BenchmarkDynamicConfig dynamicConfig_;
  // Sizes of builds also depend on the commands, so these are a part of the key.
  const std::string commandsKey_;
  const std::shared_ptr<SharedCosts> costs_;
  const std::shared_ptr<const BaselineFile> baselineFile_;
  // Results computed so far.
  mutable std::optional<BaselineFile::Hash> hash_;
  mutable std::map<std::pair<Baseline, bool>, std::string> optimised_;
};

}  // namespace compiler_gym::llvm_service
