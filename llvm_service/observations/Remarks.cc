#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

struct Field {
  const char* name;
  std::string Remark::* value;
};

constexpr Field kFields[] = {{"kind", &Remark::kind},
                             {"pass", &Remark::pass},
                             {"name", &Remark::name},
                             {"function", &Remark::function},
                             {"message", &Remark::message}};

grpc::Status computeRemarks(const ObservationInput& input, Event& event) {
  const std::vector<Remark>* remarks = nullptr;
  RETURN_IF_ERROR(input.compilation.lastRemarks(&remarks));
  for (const Field& field : kFields) {
    std::vector<std::string> column;
    column.reserve(remarks->size());
    for (const Remark& remark : *remarks) {
      column.push_back(remark.*field.value);
    }
    addTexts(event, field.name, column);
  }
  return grpc::Status::OK;
}

}  // namespace

/// Remarks: what the last action reported through LLVM's optimisation remarks, in the order of
/// reporting, as a dictionary of columns of text: "kind" ("passed", "missed", "analysis" or
/// "failure"), "pass" and "name" as in `opt -pass-remarks-output` (e.g. "inline", "Inlined"), the
/// "function" it is about, and the "message". Empty before the first action, and when the action
/// reports nothing. It describes the last action of a step.
///
/// Repeats all actions on a copy, see RemarkReplay.
Observations remarks() {
  std::vector<std::pair<std::string, Column>> columns;
  for (const Field& field : kFields) {
    columns.emplace_back(field.name, Column::kTexts);
  }
  ObservationSpace space = tableSpace("Remarks", columns);
  space.set_of_last_action(true);
  return {{std::move(space), computeRemarks}};
}

}  // namespace compiler_gym::llvm_service
