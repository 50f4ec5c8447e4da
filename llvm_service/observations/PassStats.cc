#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

grpc::Status computePassStats(const ObservationInput& input, Event& event) {
  const ModuleChange& change = input.compilation.lastChange();
  addTexts(event, "functions_changed", change.functionsChanged);
  addTexts(event, "functions_added", change.functionsAdded);
  addTexts(event, "functions_removed", change.functionsRemoved);
  auto& fields = *event.mutable_event_dict()->mutable_event();
  fields["changed"].set_boolean_value(change.changed);
  fields["instructions_before"].set_int64_value(static_cast<int64_t>(change.instructionsBefore));
  fields["instructions_after"].set_int64_value(static_cast<int64_t>(change.instructionsAfter));
  return grpc::Status::OK;
}

ObservationSpace makeSpace() {
  ObservationSpace space = tableSpace("PassStats", {{"functions_changed", Column::kTexts},
                                                    {"functions_added", Column::kTexts},
                                                    {"functions_removed", Column::kTexts}});
  space.set_of_last_action(true);
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  auto& defaults = *space.mutable_default_observation()->mutable_event_dict()->mutable_event();
  fields["changed"].mutable_boolean_value();
  defaults["changed"].set_boolean_value(false);
  for (const char* name : {"instructions_before", "instructions_after"}) {
    fields[name].mutable_int64_value()->set_min(0);
    defaults[name].set_int64_value(0);
  }
  return space;
}

}  // namespace

/// PassStats: what the last action changed, as a dictionary. "changed" says whether the bitcode of
/// the module is different; it is the opposite of the step's action_had_no_effect. The sequences
/// "functions_changed", "functions_added" and "functions_removed" name functions; a function has
/// changed if the content of its body, its attributes or its linkage has. All may be empty although
/// the module has changed: in a global variable, or in the order of a value's uses.
/// "instructions_before" and "instructions_after" count the instructions of the module. Before the
/// first action, everything is unchanged.
///
/// It describes the last action of a step.
Observations passStats() { return {{makeSpace(), computePassStats}}; }

}  // namespace compiler_gym::llvm_service
