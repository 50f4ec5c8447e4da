#include "llvm_service/Reproducer.h"

#include <string>
#include <vector>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm_service/benchmark/Files.h"

namespace compiler_gym::llvm_service {

namespace {

// Each option that one of the actions needs, once.
std::string optionsOf(llvm::ArrayRef<const Action*> actions) {
  llvm::SetVector<llvm::StringRef> options;
  for (const Action* action : actions) {
    options.insert(action->options.begin(), action->options.end());
  }
  std::string text;
  for (llvm::StringRef option : options) {
    text += " '" + option.str() + "'";
  }
  return text;
}

// Actions that do nothing have no pipeline, and `opt` does not accept an empty one.
std::string passesOf(llvm::ArrayRef<const Action*> actions) {
  std::string passes;
  for (const Action* action : actions) {
    if (!action->pipeline.empty()) {
      passes += (passes.empty() ? "" : ",") + action->pipeline;
    }
  }
  return passes.empty() ? "" : " -passes='module(" + passes + ")'";
}

std::string optCommand(llvm::ArrayRef<const Action*> actions, const std::string& file) {
  return "\"$opt\" -discard-value-names" + optionsOf(actions) + passesOf(actions) + " " + file +
         " -o /dev/null\n";
}

// The `opt` in the PATH often belongs to another LLVM, with other passes.
constexpr char kBeginning[] =
    "#!/bin/sh\n"
    "# To try another LLVM than that of the service: OPT=/path/to/opt sh run.sh\n"
    "llvm=" LLVM_VERSION_STRING
    "\n"
    "opt=${OPT:-" COMPILER_GYM_LLVM_PREFIX
    "/bin/opt}\n"
    "command -v \"$opt\" > /dev/null || opt=opt-${llvm%%.*}\n"
    "cd \"$(dirname \"$0\")\"\n";

}  // namespace

grpc::Status writeReproducer(Compilation& compilation, const Action& action,
                             const boost::filesystem::path& directory) {
  std::vector<const Action*> all = compilation.history();
  all.push_back(&action);
  const std::string script =
      kBeginning + optCommand(&action, "before.bc") + optCommand(all, "start.bc");
  RETURN_IF_ERROR(writeFile(directory / "before.bc", compilation.bitcode()));
  RETURN_IF_ERROR(writeFile(directory / "start.bc", compilation.program().bitcode()));
  return writeFile(directory / "run.sh", script);
}

}  // namespace compiler_gym::llvm_service
