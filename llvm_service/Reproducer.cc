#include "llvm_service/Reproducer.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm_service/benchmark/Files.h"

namespace compiler_gym::llvm_service {

namespace {

// Each option that one of the actions needs, once.
std::string optionsOf(llvm::ArrayRef<Action> actions) {
  llvm::SetVector<llvm::StringRef> options;
  for (const Action& action : actions) {
    options.insert(action.options.begin(), action.options.end());
  }
  std::string text;
  for (llvm::StringRef option : options) {
    text += " '" + option.str() + "'";
  }
  return text;
}

std::string optCommand(llvm::ArrayRef<Action> actions, const std::string& file) {
  const auto pipelines = llvm::map_range(actions, [](const Action& each) { return each.pipeline; });
  return "opt -discard-value-names" + optionsOf(actions) + " -passes='module(" +
         llvm::join(pipelines, ",") + ")' " + file + " -o /dev/null\n";
}

}  // namespace

grpc::Status writeReproducer(Compilation& compilation, const std::vector<Action>& history,
                             const Action& action, const boost::filesystem::path& directory) {
  std::vector<Action> all = history;
  all.push_back(action);
  const std::string script = "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n" +
                             optCommand(action, "before.bc") + optCommand(all, "start.bc");
  RETURN_IF_ERROR(writeFile(directory / "before.bc", compilation.bitcode()));
  RETURN_IF_ERROR(writeFile(directory / "start.bc", compilation.program().bitcode()));
  return writeFile(directory / "run.sh", script);
}

}  // namespace compiler_gym::llvm_service
