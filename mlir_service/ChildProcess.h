#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <string>

namespace compiler_gym::mlir_service {

/// The work of a child process. It writes its result to `output`.
using ChildFunction = std::function<grpc::Status(std::string& output)>;

/// Calls a function in a copy of this process, and waits for it. Whatever it does, this process
/// goes on, and the copy does not outlive it.
///
/// @param what A description for error texts, e.g. "Running the kernel".
/// @param limit of the time that it may take, after which it is killed.
/// @param output The output of the function.
/// @return the status of the function, DEADLINE_EXCEEDED if it took too long, RESOURCE_EXHAUSTED if
///     the copy cannot be made or ran out of memory, INTERNAL if it ended by a signal or by itself.
[[nodiscard]] grpc::Status callInChild(const std::string& what, const ChildFunction& function,
                                       std::chrono::seconds limit, std::string& output);

}  // namespace compiler_gym::mlir_service
