#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mlir_service/Kernel.h"

namespace compiler_gym::mlir_service {

/// The contents of all arguments of a kernel, one after the other.
using Contents = std::vector<std::string>;

/// The number of runs for one measurement.
struct RunCounts {
  int64_t warmup = 1;
  int64_t measured = 1;
};

/// The inputs of a kernel: integers from -2 to 2, the same each time. Sums of products of
/// these are exact in whatever order they are added up, as long as they stay below 2^24.
Contents makeInputs(const std::vector<Buffer>& arguments);

/// Runs compiled kernels, each in a process of its own, so that whatever the code does, this
/// process goes on. `seconds` is the time limit of such a process.
class Execution {
 public:
  /// @param object of compile().
  Execution(const std::vector<Buffer>& arguments, const std::string& object,
            std::chrono::seconds limit);

  /// Runs the kernel once.
  ///
  /// @param results The contents of the arguments after the run.
  /// @return DEADLINE_EXCEEDED if it takes too long, INTERNAL if it crashes or cannot be loaded.
  [[nodiscard]] grpc::Status run(Contents& results) const;

  /// Runs the kernel once, compares what its arguments hold then with what they must, and then
  /// measures it.
  ///
  /// The inputs are restored before each run, which is not part of its time.
  ///
  /// @param seconds wall time of each measured run.
  /// @return as run(), and DATA_LOSS with the first element that is different.
  [[nodiscard]] grpc::Status measure(const Contents& expected, const RunCounts& counts,
                                     std::vector<double>& seconds) const;

 private:
  const std::vector<Buffer>& arguments_;
  const std::string& object_;
  const std::chrono::seconds limit_;
};

/// The first element that is different, e.g. "argument 2 has 3 at [0, 17] instead of 4"; empty if
/// there is none. A NaN is like any other, and 0 like -0.
std::string findDifference(const std::vector<Buffer>& arguments, const Contents& expected,
                           const Contents& found);

}  // namespace compiler_gym::mlir_service
