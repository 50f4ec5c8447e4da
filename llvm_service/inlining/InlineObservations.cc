#include "llvm_service/inlining/InlineObservations.h"

#include <limits>
#include <string>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/inlining/InlineFeatures.h"
#include "llvm_service/inlining/InlineGame.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;

// Adds the columns that all tables of calls have.
template <typename Element>
void addEnds(Event& table, const std::vector<Element>& elements) {
  std::vector<std::string> callers;
  std::vector<std::string> callees;
  for (const Element& element : elements) {
    callers.push_back(element.caller);
    callees.push_back(element.callee);
  }
  addTexts(table, "caller", callers);
  addTexts(table, "callee", callees);
}

void fillQuestion(const InlineQuestion* question, int64_t number, Event& event) {
  auto& fields = *event.mutable_event_dict()->mutable_event();
  fields["number"].set_int64_value(question != nullptr ? number : -1);
  fields["site"].set_int64_value(question != nullptr ? question->site : -1);
  fields["caller"].set_string_value(question != nullptr ? question->caller : "");
  fields["callee"].set_string_value(question != nullptr ? question->callee : "");
  fields["default"].set_boolean_value(question != nullptr && question->byDefault);
}

Observation questionObservation() {
  ObservationSpace space;
  space.set_name("InlineQuestion");
  space.set_deterministic(true);
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  for (const char* name : {"number", "site"}) fields[name].mutable_int64_value()->set_min(-1);
  for (const char* name : {"caller", "callee"}) {
    fields[name].mutable_string_value()->mutable_length_range()->set_min(0);
  }
  fields["default"].mutable_boolean_value();
  fillQuestion(nullptr, -1, *space.mutable_default_observation());
  const auto compute = [](const InlineGame& game, Event& event) {
    fillQuestion(game.openQuestion(), static_cast<int64_t>(game.answers()), event);
    return Status::OK;
  };
  return observationOf<InlineGame>(space, compute);
}

Observation featuresObservation() {
  const int64_t size = static_cast<int64_t>(namesOfInlineFeatures().size());
  ObservationSpace space = countsSpace("InlineFeatures", size);
  // Some costs are negative: savings, or bonuses.
  for (int64_t& low : *space.mutable_space()->mutable_int64_box()->mutable_low()->mutable_value()) {
    low = std::numeric_limits<int64_t>::min();
  }
  const auto compute = [](const InlineGame& game, Event& event) {
    setCounts(game.featuresOfQuestion(), event);
    return Status::OK;
  };
  return observationOf<InlineGame>(space, compute);
}

Observation featureNamesObservation() {
  const auto compute = [](const InlineGame& /*game*/, Event& event) {
    std::vector<std::string> names;
    std::vector<std::string> descriptions;
    for (auto& [name, description] : namesOfInlineFeatures()) {
      names.push_back(name);
      descriptions.push_back(description);
    }
    addTexts(event, "name", names);
    addTexts(event, "description", descriptions);
    return Status::OK;
  };
  return observationOf<InlineGame>(
      tableSpace("InlineFeatureNames", {{"name", Column::kTexts}, {"description", Column::kTexts}}),
      compute);
}

Observation decisionsObservation() {
  const auto compute = [](const InlineGame& game, Event& event) {
    using Question = InlineQuestion;
    const std::vector<Question>& questions = game.questions();
    addEnds(event, questions);
    addColumn(event, "site", questions, [](const Question& each) { return each.site; });
    addColumn(event, "default", questions, [](const Question& each) { return each.byDefault; });
    addColumn(event, "inlined", questions, [](const Question& each) { return each.inlined; });
    addColumn(event, "decided", questions, [](const Question& each) { return each.decided; });
    return Status::OK;
  };
  return observationOf<InlineGame>(tableSpace("InlineDecisions", {{"caller", Column::kTexts},
                                                                  {"callee", Column::kTexts},
                                                                  {"site", Column::kIntegers},
                                                                  {"default", Column::kIntegers},
                                                                  {"inlined", Column::kIntegers},
                                                                  {"decided", Column::kIntegers}}),
                                   compute);
}

int64_t numberOf(InlineChoice choice) {
  return choice == InlineChoice::kDefault ? -1 : choice == InlineChoice::kInline ? 1 : 0;
}

Status computeSites(const InlineGame& game, Event& event) {
  using Counts = InlineCounts;
  const std::vector<InlineSite>& sites = game.sites();
  addEnds(event, sites);
  addColumn(event, "callee_number", sites,
            [](const InlineSite& each) { return each.calleeNumber; });
  addColumn(event, "open", sites, [](const InlineSite& each) { return each.isOpen; });
  addColumn(event, "decision", game.choices(), numberOf);
  const std::vector<Counts> counts = game.counts();
  addColumn(event, "inlined", counts, [](const Counts& each) { return each.inlined; });
  addColumn(event, "kept", counts, [](const Counts& each) { return each.kept; });
  const std::vector<Counts>& defaults = game.defaultCounts();
  addColumn(event, "default_inlined", defaults, [](const Counts& each) { return each.inlined; });
  addColumn(event, "default_kept", defaults, [](const Counts& each) { return each.kept; });
  return Status::OK;
}

Observation sitesObservation() {
  return observationOf<InlineGame>(
      tableSpace("InlineSites", {{"caller", Column::kTexts},
                                 {"callee", Column::kTexts},
                                 {"callee_number", Column::kIntegers},
                                 {"open", Column::kIntegers},
                                 {"decision", Column::kIntegers},
                                 {"inlined", Column::kIntegers},
                                 {"kept", Column::kIntegers},
                                 {"default_inlined", Column::kIntegers},
                                 {"default_kept", Column::kIntegers}}),
      computeSites);
}

Observation siteFeaturesObservation() {
  const auto names = namesOfInlineFeatures();
  std::vector<std::pair<std::string, Column>> columns;
  for (const auto& [name, description] : names) columns.emplace_back(name, Column::kIntegers);
  const auto compute = [names](const InlineGame& game, Event& event) {
    std::vector<std::vector<int64_t>> rows;
    RETURN_IF_ERROR(game.featuresOfSites(rows));
    for (size_t i = 0; i < names.size(); ++i) {
      addColumn(event, names[i].first, rows, [i](const auto& row) { return row[i]; });
    }
    return Status::OK;
  };
  return observationOf<InlineGame>(tableSpace("InlineSiteFeatures", columns), compute);
}

Observation inputObservation() {
  const auto compute = [](const InlineGame& game, Event& event) {
    setBytes(game.compilation().program().bitcode(), event);
    return Status::OK;
  };
  return observationOf<InlineGame>(bytesSpace("BitcodeInput"), compute);
}

Observation defaultCountObservation() {
  const auto compute = [](const InlineGame& game, Event& event) {
    event.set_int64_value(game.defaultInstructions());
    return Status::OK;
  };
  return observationOf<InlineGame>(countSpace("IrInstructionCountDefault"), compute);
}

}  // namespace

Observations listInlineObservations() {
  return {questionObservation(),  featuresObservation(),    featureNamesObservation(),
          decisionsObservation(), sitesObservation(),       siteFeaturesObservation(),
          inputObservation(),     defaultCountObservation()};
}

}  // namespace compiler_gym::llvm_service
