#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "mlir_service/Compilation.h"

namespace compiler_gym::mlir_service {

/// Settings made by session parameters. Copied to forks.
struct Settings {
  RunCounts runCounts;
  /// Time limit for all runs of one measurement together.
  std::chrono::seconds limit{30};
};

/// An observation space and the computation of its values.
struct Observation {
  using Compute = std::function<grpc::Status(Compilation&, const Settings&, Event&)>;

  ObservationSpace space;
  Compute compute;
};

/// All observations, in the order of their numbers:
///   Ir               the module, as mlir-opt prints it
///   LoopNest         int64[kLoopFeatures], see LoopNest.h
///   OpCounts         how many operations of each dialect there are
///   LlvmIr           the optimised LLVM IR that it is compiled to, for this processor
///   ObjectSizeBytes  the bytes of the object file of that
///   Runtime          seconds of each measured run, after a run whose results were compared
///   RuntimeOfStart   the same of the kernel before any action
///   IsCorrect        whether the kernel computes what it did before any action
std::vector<Observation> listObservations();

}  // namespace compiler_gym::mlir_service
