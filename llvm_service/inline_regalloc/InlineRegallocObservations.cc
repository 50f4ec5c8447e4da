#include "llvm_service/inline_regalloc/InlineRegallocObservations.h"

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm_service/games/Games.h"
#include "llvm_service/inline_regalloc/InlineRegallocGame.h"
#include "llvm_service/inlining/InlineFeatures.h"
#include "llvm_service/inlining/InlineObservations.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;

// Computes an observation of one of the two games.
template <typename Select>
Observation observationOfPart(Observation observation, Select select) {
  observation.compute = [compute = std::move(observation.compute), select](
                            const ObservationInput& input, Event& event) {
    ObservationInput ofPart = input;
    ofPart.game = &select(static_cast<const InlineRegallocGame&>(*input.game));
    return compute(ofPart, event);
  };
  return observation;
}

std::vector<float> featuresOf(const InlineRegallocGame& game) {
  const std::vector<int64_t> ofCall = game.inlining().featuresOfQuestion();
  std::vector<float> features = {game.isAboutCall() ? 1.0F : 0.0F};
  features.insert(features.end(), ofCall.begin(), ofCall.end());
  const AllocatorQuestion* question = game.registers().openQuestion();
  if (game.isAboutCall() || question == nullptr) {
    features.resize(features.size() + advisorFeatureSize(AllocatorDecision::kEviction), 0.0F);
  } else {
    llvm::append_range(features, question->features);
  }
  return features;
}

Observation featuresObservation() {
  const size_t ofCall = namesOfInlineFeatures().size();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> zeros(1 + ofCall + advisorFeatureSize(AllocatorDecision::kEviction));
  std::vector<float> low = zeros;
  std::vector<float> high(zeros.size(), infinity);
  high[0] = 1;
  std::fill_n(low.begin() + 1, ofCall, -infinity);
  ObservationSpace space;
  space.set_name("DecisionFeatures");
  space.set_deterministic(true);
  space.set_platform_dependent(true);
  FloatBox& box = *space.mutable_space()->mutable_float_box();
  *box.mutable_low() = floatTensor(low);
  *box.mutable_high() = floatTensor(high);
  *space.mutable_default_observation()->mutable_float_tensor() = floatTensor(zeros);
  const auto compute = [](const InlineRegallocGame& game, Event& event) {
    *event.mutable_float_tensor() = floatTensor(featuresOf(game));
    return Status::OK;
  };
  return observationOf<InlineRegallocGame>(space, compute);
}

std::set<std::string> namesOf(const Observations& observations) {
  std::set<std::string> names;
  for (const Observation& each : observations) names.insert(each.space.name());
  return names;
}

}  // namespace

Observations listInlineRegallocObservations() {
  Observations observations = {featuresObservation()};
  for (Observation& each : listInlineObservations()) {
    observations.push_back(observationOfPart(
        std::move(each),
        [](const InlineRegallocGame& game) -> const Game& { return game.inlining(); }));
  }
  const std::set<std::string> known = namesOf(observations);
  for (const Observation& each : regallocGame().observations) {
    // The allocator asks about evictions alone.
    const bool isOfPriorities = llvm::StringRef(each.space.name()).starts_with("Priorit");
    if (isOfPriorities || known.count(each.space.name()) > 0) continue;
    observations.push_back(observationOfPart(
        each, [](const InlineRegallocGame& game) -> const Game& { return game.registers(); }));
  }
  return observations;
}

bool isOfInlining(const ObservationSpace& space) {
  static const std::set<std::string> names = namesOf(listInlineObservations());
  return names.count(space.name()) > 0;
}

}  // namespace compiler_gym::llvm_service
