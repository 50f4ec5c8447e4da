#pragma once

#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

/// The observations of InlineRegallocGame: those of InlineGame about its questions, those of
/// RegallocGame, and one of its own. All that is said by default is about `clang -Oz`.
///
/// - DecisionFeatures: a float vector: 1 if the inliner asks and 0 otherwise, then InlineFeatures,
///   then EvictionFeatures. Zeros for what is not asked.
Observations listInlineRegallocObservations();

/// True if an observation is one of InlineGame's own.
bool isOfInlining(const ObservationSpace& space);

}  // namespace compiler_gym::llvm_service
