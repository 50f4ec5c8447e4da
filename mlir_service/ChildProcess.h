#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace compiler_gym::mlir_service {

/// What a child may take.
struct ChildLimits {
  /// Processor time, after which it is killed.
  std::chrono::milliseconds time;
  /// How many times that it may take by the clock, as on a busy machine.
  int patience = 5;
  /// The length of its output, or of the text of an error.
  size_t outputBytes = size_t{1} << 30;
};

/// The work of a child process. It writes its result to `output`.
using ChildFunction = std::function<grpc::Status(std::string& output)>;

/// Calls a function in a copy of this process, and waits for it. Whatever it does, this process
/// goes on, and the copy does not outlive it.
///
/// @param what A description for error texts, e.g. "Compiling the kernel".
/// @param output The output of the function.
/// @return the status of the function, DEADLINE_EXCEEDED if it took too long, RESOURCE_EXHAUSTED if
///     the copy cannot be made, ran out of memory, got too little of the processor or wrote too
///     much, INTERNAL if it ended by a signal or by itself.
[[nodiscard]] grpc::Status callInChild(const std::string& what, const ChildFunction& function,
                                       const ChildLimits& limits, std::string& output);

/// As callInChild(), for a function that runs the code of others: the copy gives up all its rights
/// (see Rights.h) before it calls the function. The output may be anything of any length up to the
/// limit, whatever the function writes.
///
/// @return as callInChild(), and FAILED_PRECONDITION if the system cannot confine the copy.
[[nodiscard]] grpc::Status callConfinedInChild(const std::string& what,
                                               const ChildFunction& function,
                                               const ChildLimits& limits, std::string& output);

}  // namespace compiler_gym::mlir_service
