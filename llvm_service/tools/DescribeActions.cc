// Prints docs/llvm-actions.md: which of LLVM's passes are actions, and why the others are not.
//
// Everything it says comes from the LLVM it is linked with and from the built-in policy.

#include <string>
#include <vector>

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/actions/ActionSpaces.h"
#include "llvm_service/actions/Policy.h"

namespace compiler_gym::llvm_service {

namespace {

const char* nameOf(ListedPass::Level level) {
  switch (level) {
    case ListedPass::Level::kModule:
      return "module";
    case ListedPass::Level::kCgscc:
      return "call graph";
    case ListedPass::Level::kFunction:
      return "function";
    case ListedPass::Level::kLoopNest:
      return "loop nest";
    case ListedPass::Level::kLoop:
      return "loop";
  }
  llvm_unreachable("covered switch");
}

// What a pass is given at a time, which its adaptors tell. A loop nest pass has those of a loop
// pass.
const char* levelOf(const Action& action) {
  const llvm::StringRef pipeline = action.pipeline;
  if (pipeline.starts_with("function(loop(")) {
    return "loop";
  }
  if (pipeline.starts_with("function(loop-mssa(")) {
    return "loop, with MemorySSA";
  }
  if (pipeline.starts_with("function(")) {
    return "function";
  }
  return pipeline.starts_with("cgscc(") ? "call graph" : "module";
}

void printIntroduction(const ActionSpaces& spaces, size_t variants, llvm::raw_ostream& out) {
  const size_t actions = spaces.lists.front().actions.size();
  out << "<!-- Generated. After a change of the policy or of LLVM, write it anew:\n"
         "bazel run //llvm_service/tools:describe_actions > docs/llvm-actions.md -->\n\n"
         "# The actions of the LLVM environment\n\n"
         "An action is one pass of LLVM. When the service starts it asks LLVM for the passes that\n"
         "work on IR, those of plug-ins excepted, and takes out the ones that its policy excludes\n"
         "by name and for a reason; what is left is the action space `PassesAll`. So a new version\n"
         "of LLVM brings its new passes along. The policy is `llvm_service/actions/policy.yaml`,\n"
         "or the file that the service is given with `--action_policy`. It also says which passes\n"
         "have variants with parameters worth having: the action space `PassesWithParameters` is\n"
         "`PassesAll` and these.\n\n"
         "The spelling of an action is what `opt -passes=` understands inside of `module(...)`,\n"
         "with the adaptors that give the pass a call graph component, a function or a loop at a\n"
         "time. Its number is its place in the list.\n\n";
  out << "LLVM " << LLVM_VERSION_STRING << " lists " << listPasses().size()
      << " passes that work on IR. Of these, " << actions << " are actions and "
      << spaces.excluded.size() << " are excluded. There are " << variants << " variants.\n"
      << "A pass that LLVM lists at several levels counts at each. Analyses and the passes of the\n"
         "code generator, which cannot be part of a module pipeline, are not counted.\n";
}

void printActions(llvm::ArrayRef<Action> actions, size_t firstNumber, llvm::raw_ostream& out) {
  out << "\n| Number | Action | Level |\n| ---: | --- | --- |\n";
  for (const Action& action : actions) {
    out << "| " << firstNumber++ << " | `" << action.pipeline << "` | " << levelOf(action)
        << " |\n";
  }
}

void printExcluded(const std::vector<ExcludedPass>& excluded, llvm::raw_ostream& out) {
  out << "\n| Pass | Level | Why it is not an action |\n| --- | --- | --- |\n";
  for (const ExcludedPass& entry : excluded) {
    out << "| `" << entry.pass.name << "` | " << nameOf(entry.pass.level) << " | " << entry.reason
        << " |\n";
  }
}

void printPage(llvm::raw_ostream& out) {
  const ActionSpaces spaces = ActionSpaces::discover(Policy::builtin());
  const std::vector<Action>& all = spaces.find("PassesAll")->actions;
  const std::vector<Action>& withVariants = spaces.find("PassesWithParameters")->actions;
  const auto variants = llvm::ArrayRef(withVariants).drop_front(all.size());
  printIntroduction(spaces, variants.size(), out);
  out << "\n## Actions\n";
  printActions(all, 0, out);
  out << "\n## Variants\n\nThe actions that `PassesWithParameters` has in addition.\n";
  printActions(variants, all.size(), out);
  out << "\n## Excluded passes\n";
  printExcluded(spaces.excluded, out);
}

}  // namespace

}  // namespace compiler_gym::llvm_service

int main() {
  compiler_gym::llvm_service::printPage(llvm::outs());
  return 0;
}
