#include "llvm_service/actions/LegacyActions.h"

#include "llvm/Support/JSON.h"
#include "llvm_service/actions/LegacyActionsText.h"

namespace compiler_gym::llvm_service {

namespace {

// Returns the text without adaptors: "licm" of "function(loop-mssa(licm))".
llvm::StringRef innermost(llvm::StringRef pipeline) {
  const size_t open = pipeline.rfind('(');
  return open == llvm::StringRef::npos
             ? pipeline
             : pipeline.drop_front(open + 1).take_until([](char c) { return c == ')'; });
}

Action nothing(const std::string& name, const std::string& reason) {
  return {name, "", "Does nothing: " + reason};
}

Action makeLegacyAction(const std::string& name, const std::string& pipeline,
                        const Descriptions& descriptions) {
  const llvm::StringRef text = innermost(pipeline);
  const std::string pass = text.split('<').first.str();
  auto description = descriptions.find(text.str());
  if (!description) {
    description = descriptions.find(pass);
  }
  return {name, pipeline,
          description.value_or("The pass of LLVM that is spelled " + pipeline + " today")};
}

}  // namespace

std::vector<Action> makeLegacyActions(const Policy& policy, const Descriptions& descriptions,
                                      const std::function<bool(const std::string&)>& parses) {
  const llvm::json::Value table = llvm::cantFail(llvm::json::parse(kLegacyActionsText));
  std::vector<Action> actions;
  for (const llvm::json::Value& row : *table.getAsArray()) {
    const llvm::json::Array& cells = *row.getAsArray();
    const std::string name = cells[0].getAsString()->str();
    const auto pipeline = cells[1].getAsString();
    if (!pipeline) {
      actions.push_back(nothing(name, "LLVM has no such pass any more, and none in its place"));
      continue;
    }
    const std::string pass = innermost(*pipeline).split('<').first.str();
    if (const auto reason = policy.exclusionReason(pass)) {
      actions.push_back(nothing(name, "the policy excludes it. Reason: " + *reason));
    } else if (!parses(pipeline->str())) {
      actions.push_back(nothing(name, "the LLVM of this service has no pass " + pass));
    } else {
      actions.push_back(makeLegacyAction(name, pipeline->str(), descriptions));
    }
  }
  return actions;
}

}  // namespace compiler_gym::llvm_service
