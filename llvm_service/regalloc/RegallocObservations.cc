#include "llvm_service/regalloc/RegallocObservations.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/observations/Spaces.h"
#include "llvm_service/regalloc/RegallocGame.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;

constexpr Properties kOfTarget{/*deterministic=*/true, /*platformDependent=*/true};
constexpr double kThousandths = 1000;

template <typename Element>
void addFunctions(Event& table, const std::vector<Element>& elements) {
  std::vector<std::string> functions;
  for (const Element& element : elements) functions.push_back(element.function);
  addTexts(table, "function", functions);
}

// The names of the observations about a decision.
struct Names {
  const char* features;
  const char* featureNames;
  const char* question;
  const char* table;
};

constexpr Names namesOf(AllocatorDecision decision) {
  if (decision == AllocatorDecision::kEviction) {
    return {"EvictionFeatures", "EvictionFeatureNames", "EvictionQuestion", "Evictions"};
  }
  return {"PriorityFeatures", "PriorityFeatureNames", "PriorityQuestion", "Priorities"};
}

// The open question about a decision; null if there is none, or the game plays the other decision.
const AllocatorQuestion* openQuestion(const RegallocGame& game, AllocatorDecision decision) {
  return game.decision() == decision ? game.openQuestion() : nullptr;
}

Observation featuresObservation(AllocatorDecision decision) {
  const std::vector<float> zeros(advisorFeatureSize(decision));
  ObservationSpace space;
  space.set_name(namesOf(decision).features);
  space.set_deterministic(true);
  space.set_platform_dependent(true);
  FloatBox& box = *space.mutable_space()->mutable_float_box();
  *box.mutable_low() = floatTensor(zeros);
  const float infinity = std::numeric_limits<float>::infinity();
  *box.mutable_high() = floatTensor(std::vector<float>(zeros.size(), infinity));
  *space.mutable_default_observation()->mutable_float_tensor() = floatTensor(zeros);
  const auto compute = [=](const RegallocGame& game, Event& event) {
    const AllocatorQuestion* question = openQuestion(game, decision);
    *event.mutable_float_tensor() = floatTensor(question != nullptr ? question->features : zeros);
    return Status::OK;
  };
  return observationOf<RegallocGame>(space, compute);
}

Observation featureNamesObservation(AllocatorDecision decision) {
  const auto compute = [decision](const RegallocGame& /*game*/, Event& event) {
    std::vector<std::string> names;
    std::vector<std::string> descriptions;
    std::vector<int64_t> sizes;
    for (const AdvisorFeature& feature : advisorFeatures(decision)) {
      names.emplace_back(feature.name);
      descriptions.emplace_back(feature.description);
      sizes.push_back(static_cast<int64_t>(feature.size));
    }
    addTexts(event, "name", names);
    addTexts(event, "description", descriptions);
    addIntegers(event, "size", sizes);
    return Status::OK;
  };
  return observationOf<RegallocGame>(
      tableSpace(
          namesOf(decision).featureNames,
          {{"name", Column::kTexts}, {"description", Column::kTexts}, {"size", Column::kIntegers}}),
      compute);
}

Observation maskObservation() {
  ObservationSpace space = countsSpace("EvictionMask", kEvictionCandidates);
  space.set_platform_dependent(true);
  for (int64_t& high :
       *space.mutable_space()->mutable_int64_box()->mutable_high()->mutable_value()) {
    high = 1;
  }
  const auto compute = [](const RegallocGame& game, Event& event) {
    std::vector<int64_t> mask(kEvictionCandidates);
    if (const auto* question = openQuestion(game, AllocatorDecision::kEviction)) {
      mask.assign(question->mask.begin(), question->mask.end());
    }
    setCounts(mask, event);
    return Status::OK;
  };
  return observationOf<RegallocGame>(space, compute);
}

void fillQuestion(const AllocatorQuestion* question, size_t number, Event& event) {
  auto& fields = *event.mutable_event_dict()->mutable_event();
  const bool isOpen = question != nullptr;
  fields["number"].set_int64_value(isOpen ? static_cast<int64_t>(number) : -1);
  fields["function"].set_string_value(isOpen ? question->function : "");
  fields["default"].set_int64_value(isOpen ? question->byDefault : -1);
}

Observation questionObservation(AllocatorDecision decision) {
  ObservationSpace space;
  space.set_name(namesOf(decision).question);
  space.set_deterministic(true);
  space.set_platform_dependent(true);
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  for (const char* name : {"number", "default"}) fields[name].mutable_int64_value()->set_min(-1);
  fields["function"].mutable_string_value()->mutable_length_range()->set_min(0);
  fillQuestion(nullptr, 0, *space.mutable_default_observation());
  const auto compute = [decision](const RegallocGame& game, Event& event) {
    fillQuestion(openQuestion(game, decision), game.answers(), event);
    return Status::OK;
  };
  return observationOf<RegallocGame>(space, compute);
}

Observation questionsObservation(AllocatorDecision decision) {
  const bool isPriority = decision == AllocatorDecision::kPriority;
  const auto compute = [=](const RegallocGame& game, Event& event) {
    using Question = AllocatorQuestion;
    static const std::vector<Question> none;
    const auto& questions = game.decision() == decision ? game.allocation().questions : none;
    addFunctions(event, questions);
    if (isPriority) {
      addColumn(event, "size", questions, [](const Question& each) { return each.rangeSize; });
    }
    addColumn(event, "default", questions, [](const Question& each) { return each.byDefault; });
    addColumn(event, "chosen", questions, [](const Question& each) { return each.chosen; });
    addColumn(event, "decided", questions, [](const Question& each) { return each.decided; });
    return Status::OK;
  };
  std::vector<std::pair<std::string, Column>> columns = {{"function", Column::kTexts}};
  if (isPriority) columns.emplace_back("size", Column::kIntegers);
  for (const char* name : {"default", "chosen", "decided"}) {
    columns.emplace_back(name, Column::kIntegers);
  }
  return observationOf<RegallocGame>(tableSpace(namesOf(decision).table, columns), compute);
}

Observation spillsObservation() {
  const auto compute = [](const RegallocGame& game, Event& event) {
    using Counts = SpillCounts;
    const std::vector<Counts>& spills = game.allocation().spills;
    addFunctions(event, spills);
    addColumn(event, "spills", spills, [](const Counts& each) { return each.spills; });
    addColumn(event, "reloads", spills, [](const Counts& each) { return each.reloads; });
    addColumn(event, "copies", spills, [](const Counts& each) { return each.copies; });
    addColumn(event, "cost", spills,
              [](const Counts& each) { return std::llround(each.cost * kThousandths); });
    return Status::OK;
  };
  return observationOf<RegallocGame>(tableSpace("Spills", {{"function", Column::kTexts},
                                                           {"spills", Column::kIntegers},
                                                           {"reloads", Column::kIntegers},
                                                           {"copies", Column::kIntegers},
                                                           {"cost", Column::kIntegers}}),
                                     compute);
}

int64_t spillCount(const std::vector<SpillCounts>& spills) {
  return std::accumulate(
      spills.begin(), spills.end(), int64_t{0},
      [](int64_t sum, const SpillCounts& each) { return sum + each.spills + each.reloads; });
}

int64_t spillCost(const std::vector<SpillCounts>& spills) {
  return std::llround(
      std::accumulate(spills.begin(), spills.end(), 0.0,
                      [](double sum, const SpillCounts& each) { return sum + each.cost; }));
}

using Measure = int64_t (*)(const std::vector<SpillCounts>&);

Observation spillMeasure(const std::string& name, Measure measure, bool isDefault) {
  const auto compute = [=](const RegallocGame& game, Event& event) {
    event.set_int64_value(measure(isDefault ? game.defaultSpills() : game.allocation().spills));
    return Status::OK;
  };
  return observationOf<RegallocGame>(countSpace(name, kOfTarget), compute);
}

Observation sizeObservation() {
  const auto compute = [](const RegallocGame& game, Event& event) {
    int64_t bytes = 0;
    RETURN_IF_ERROR(textSize(game.allocation().output, bytes));
    event.set_int64_value(bytes);
    return Status::OK;
  };
  return observationOf<RegallocGame>(countSpace("ObjectTextSizeBytes", kOfTarget), compute);
}

Observation objectObservation() {
  ObservationSpace space = bytesSpace("ObjectFile");
  space.set_platform_dependent(true);
  const auto compute = [](const RegallocGame& game, Event& event) {
    setBytes(game.allocation().output, event);
    return Status::OK;
  };
  return observationOf<RegallocGame>(space, compute);
}

Observation inputObservation() {
  const auto compute = [](const RegallocGame& game, Event& event) {
    setBytes(game.input(), event);
    return Status::OK;
  };
  return observationOf<RegallocGame>(bytesSpace("BitcodeInput"), compute);
}

}  // namespace

Observations listRegallocObservations() {
  constexpr auto kEviction = AllocatorDecision::kEviction;
  constexpr auto kPriority = AllocatorDecision::kPriority;
  return {featuresObservation(kEviction),
          featureNamesObservation(kEviction),
          maskObservation(),
          questionObservation(kEviction),
          questionsObservation(kEviction),
          featuresObservation(kPriority),
          featureNamesObservation(kPriority),
          questionObservation(kPriority),
          questionsObservation(kPriority),
          spillsObservation(),
          spillMeasure("SpillCount", spillCount, /*isDefault=*/false),
          spillMeasure("SpillCountDefault", spillCount, /*isDefault=*/true),
          spillMeasure("SpillCost", spillCost, /*isDefault=*/false),
          spillMeasure("SpillCostDefault", spillCost, /*isDefault=*/true),
          sizeObservation(),
          objectObservation(),
          inputObservation()};
}

}  // namespace compiler_gym::llvm_service
