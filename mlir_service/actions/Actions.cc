#include "mlir_service/actions/Actions.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir_service/Diagnostics.h"
#include "mlir_service/actions/ActionsText.h"

namespace compiler_gym::mlir_service {

using grpc::Status;
using grpc::StatusCode;

namespace {

std::vector<Action> readActions() {
  std::vector<Action> actions;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(kActionsText).split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    const auto [name, rest] = line.split('\t');
    const auto [pipeline, description] = rest.split('\t');
    actions.push_back({name.str(), pipeline.str(), description.str()});
  }
  return actions;
}

}  // namespace

const std::vector<Action>& allActions() {
  static const std::vector<Action> actions = readActions();
  return actions;
}

ActionSpace actionSpace() {
  ActionSpace space;
  space.set_name("Passes");
  CommandlineSpace commandline;
  for (const Action& action : allActions()) {
    commandline.add_name(action.name);
    commandline.add_flag(action.pipeline);
    commandline.add_description(action.description);
  }
  space.mutable_space()->mutable_any_value()->PackFrom(commandline);
  return space;
}

Status runPass(const std::string& pipeline, mlir::ModuleOp module) {
  const Diagnostics diagnostics(*module.getContext());
  mlir::PassManager manager(module.getContext());
  if (mlir::failed(mlir::parsePassPipeline(pipeline, manager))) {
    return {StatusCode::INTERNAL, "MLIR does not know the pass " + pipeline};
  }
  if (mlir::failed(manager.run(module))) {
    return {StatusCode::INTERNAL, pipeline + " failed: " + diagnostics.text()};
  }
  return Status::OK;
}

}  // namespace compiler_gym::mlir_service
