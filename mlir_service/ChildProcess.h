#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <string>

namespace compiler_gym::mlir_service {

/// How many times its limit a child may take by the clock, by default.
constexpr int kPatience = 5;

/// The work of a child process. It writes its result to `output`.
using ChildFunction = std::function<grpc::Status(std::string& output)>;

/// Calls a function in a copy of this process, and waits for it. Whatever it does, this process
/// goes on, and the copy does not outlive it.
///
/// @param what A description for error texts, e.g. "Running the kernel".
/// @param limit of the processor time that it may take, after which it is killed. On a busy machine
///     that takes longer by the clock, but at most `patience` times as long.
/// @param output The output of the function.
/// @param patience How many times the limit it may take by the clock.
/// @return the status of the function, DEADLINE_EXCEEDED if it took too long, RESOURCE_EXHAUSTED if
///     the copy cannot be made, ran out of memory or got too little of the processor, INTERNAL if
///     it ended by a signal or by itself.
[[nodiscard]] grpc::Status callInChild(const std::string& what, const ChildFunction& function,
                                       std::chrono::milliseconds limit, std::string& output,
                                       int patience = kPatience);

}  // namespace compiler_gym::mlir_service
