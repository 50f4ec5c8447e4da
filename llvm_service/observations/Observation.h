#pragma once

#include <grpcpp/support/status.h>

#include <any>
#include <functional>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "llvm_service/Compilation.h"
#include "llvm_service/Ir2vecVocabulary.h"

namespace compiler_gym::llvm_service {

class Game;

/// The inputs of an observation.
struct ObservationInput {
  Compilation& compilation;
  /// The number of runs for Runtime.
  const RunCounts& runCounts;
  /// Null if there is none.
  const Ir2vecVocabulary* ir2vecVocabulary = nullptr;
  /// Cached data of the observation for the next time it is computed of the same compilation, see
  /// FunctionParts.h. If there is none, it begins anew.
  std::any* kept = nullptr;
  /// The game, for the observations of one class of games; see observationOf().
  const Game* game = nullptr;
};

/// An observation space and the computation of its values.
struct Observation {
  using Compute = std::function<grpc::Status(const ObservationInput&, Event&)>;

  ObservationSpace space;
  Compute compute;
  /// The value is the program itself, or is made by compiling it, so the module has to be valid.
  bool exports = false;
};

/// A family of observations, in the order in which they are listed.
using Observations = std::vector<Observation>;

/// All observations of Observations.def.
Observations listObservations();

}  // namespace compiler_gym::llvm_service
