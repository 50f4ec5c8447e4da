#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::llvm_service {

/// The number of runs for one measurement.
struct RunCounts {
  int64_t warmup = 0;
  int64_t measured = 1;
  /// Nonzero to pin the runs to one processor, where that is allowed.
  int64_t pinned = 0;
};

/// A program as a file that can be built and run, in a scratch directory of its own.
///
/// Build commands find the bitcode at $IN and a matching clang at $CC. The directory is made on
/// first use and removed with the object. The build, the run and the commands before it are
/// confined, see ConfinedCommand.h; the commands after a run are not.
class Executable {
 public:
  /// @param parent where to make the scratch directory.
  Executable(BenchmarkDynamicConfig config, boost::filesystem::path parent);
  ~Executable();

  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// True if the benchmark has a build command.
  bool isBuildable() const;
  /// True if the benchmark has a build and a run command.
  bool isRunnable() const;

  /// True if there is a build.
  bool isBuilt() const;

  /// Leaves the build to the object that this one is a copy of, in another process, which changes
  /// and removes it as it likes.
  void afterFork() { scratch_.clear(); }

  /// Writes the bitcode and runs the build command.
  ///
  /// @param seconds how long the build command took.
  /// @return INVALID_ARGUMENT if the benchmark is not buildable, the error of the command
  /// otherwise.
  [[nodiscard]] grpc::Status build(const std::string& bitcode, double& seconds);

  /// The text size of the file that the last build made, in bytes.
  [[nodiscard]] grpc::Status textSize(int64_t& bytes) const;

  /// Runs what the last build made.
  ///
  /// @param seconds wall time of each measured run of the run command.
  /// @return INVALID_ARGUMENT if the benchmark is not runnable, INTERNAL if it has not been built,
  ///     the error of a command otherwise.
  [[nodiscard]] grpc::Status run(const RunCounts& counts, std::vector<double>& seconds) const;

 private:
  [[nodiscard]] grpc::Status makeScratchDirectory();
  // The name in the scratch directory.
  boost::filesystem::path outputFile() const;

  BenchmarkDynamicConfig config_;
  const boost::filesystem::path parent_;
  boost::filesystem::path scratch_;  // Empty until the first build.
};

}  // namespace compiler_gym::llvm_service
