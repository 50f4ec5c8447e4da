// Prints docs/llvm-actions.md: which of LLVM's passes are actions, and why the others are not.
//
// Everything it says comes from the LLVM it is linked with and from the built-in policy.

#include <set>
#include <string>
#include <utility>
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

using PassId = std::pair<ListedPass::Level, std::string>;

// The passes that LLVM lists. It lists a few twice, with parameters and without.
size_t countPasses() {
  std::set<PassId> passes;
  for (const ListedPass& pass : listPasses()) {
    passes.emplace(pass.level, pass.name);
  }
  return passes.size();
}

std::vector<ExcludedPass> withoutRepetitions(std::vector<ExcludedPass> excluded) {
  std::set<PassId> seen;
  llvm::erase_if(excluded, [&](const ExcludedPass& entry) {
    return !seen.emplace(entry.pass.level, entry.pass.name).second;
  });
  return excluded;
}

struct Counts {
  size_t actions;
  size_t variants;
  size_t excluded;
};

constexpr char kIntroduction[] =
    R"(<!-- Generated. After a change of the policy or of LLVM, write it anew:
bazel run //llvm_service/tools:describe_actions > docs/llvm-actions.md -->

# The actions of the LLVM environment

An action is one pass of LLVM. When the service starts it asks LLVM for the passes that work on IR,
and takes out those that its policy excludes by name and for a reason; what is left is the action
space `PassesAll`. So a new version of LLVM brings its new passes along. The policy is
`llvm_service/actions/policy.yaml`, or the file that the service is given with `--action_policy`. It
also says which passes have variants with parameters worth having: the action space
`PassesWithParameters` is `PassesAll` and these.

The spelling of an action is what `opt -passes=` understands inside of `module(...)`: with the
adaptors that give the pass a call graph component, a function or a loop at a time, and with the
parameter that a pass cannot do without, which the policy knows. Its number is its place in the
list.

)";

constexpr char kWhatIsCounted[] = R"(
A pass that LLVM lists at several levels counts at each. Analyses and the passes of the code
generator, which cannot be part of a module pipeline, are not counted.
)";

void printIntroduction(const Counts& counts, llvm::raw_ostream& out) {
  out << kIntroduction << "LLVM " LLVM_VERSION_STRING " lists " << countPasses()
      << " passes that work on IR: " << counts.actions << " are actions and " << counts.excluded
      << " are excluded.\nThere are " << counts.variants << " variants.\n"
      << kWhatIsCounted;
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
  const std::vector<ExcludedPass> excluded = withoutRepetitions(spaces.excluded);
  printIntroduction({all.size(), variants.size(), excluded.size()}, out);
  out << "\n## Actions\n";
  printActions(all, 0, out);
  out << "\n## Variants\n\nThe actions that `PassesWithParameters` has in addition.\n";
  printActions(variants, all.size(), out);
  out << "\n## Excluded passes\n";
  printExcluded(excluded, out);
}

}  // namespace

}  // namespace compiler_gym::llvm_service

int main() {
  compiler_gym::llvm_service::printPage(llvm::outs());
  return 0;
}
