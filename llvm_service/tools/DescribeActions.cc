// Prints the page about the LLVM actions: the passes that are actions, and the reasons for the
// others.
//
// Its facts come from the LLVM it is linked with and from the built-in policy.

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

// Returns the unit that a pass runs on, by its adaptors. A loop nest pass has those of a loop pass.
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

// Returns the number of passes that LLVM lists. It lists a few twice, with parameters and without.
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

constexpr char kReady[] =
    R"(# LLVM actions

An action is one pass of LLVM, or a part of a pipeline. There are four action spaces. Choose one with
`compiler_gym.make(..., action_space="Legacy124")`, or set `env.action_space = "..."` before a reset:

- `PassesAll`, the default: each pass of LLVM that is useful here, and the passes of the project;
- `PassesWithParameters`: the same, then variants of passes with parameters;
- `Legacy124`: the 124 actions of CompilerGym 0.2.5, in their order;
- `Pipelines`: the default pipelines of LLVM and clang, and their parts. A baseline is an action here.

At its start, the service asks LLVM for the passes that work on IR. It takes out those that its policy
excludes by name, with a reason. A new version of LLVM therefore brings its new passes along. The policy
is `llvm_service/actions/policy.yaml`, or the file of the flag `--action_policy`. It also lists the
variants of passes, and the passes after which the module is verified because they sometimes break it.
[Adding a pass](../guides/adding-a-pass.md) shows how to add your own.

The text of an action is what `opt -passes=` understands inside of `module(...)`. It includes the
adaptors for call graph components, functions and loops, and the parameter that a pass requires. Its
number is its place in the list. `opt` knows the passes of the project with
`-load-pass-plugin=compiler_gym-llvm-passes.so`, which `env.commandline()` adds where it is needed.

)";

constexpr char kWhatIsCounted[] = R"(
A pass that LLVM lists at several levels counts at each. Analyses and passes of the code generator
cannot be part of a module pipeline. They are not counted.
)";

void printIntroduction(const Counts& counts, llvm::raw_ostream& out) {
  out << kReady << "LLVM " LLVM_VERSION_STRING " lists " << countPasses()
      << " passes that work on IR: " << counts.actions << " are actions and " << counts.excluded
      << " are excluded.\nThere are " << counts.variants << " variants.\n"
      << kWhatIsCounted;
}

void printActions(llvm::ArrayRef<Action> actions, size_t firstNumber, llvm::raw_ostream& out) {
  out << "\n| Number | Action | Level | What it does |\n| ---: | --- | --- | --- |\n";
  for (const Action& action : actions) {
    out << "| " << firstNumber++ << " | `" << action.pipeline << "` | " << levelOf(action) << " | "
        << action.description << " |\n";
  }
}

void printLegacy(llvm::ArrayRef<Action> actions, llvm::raw_ostream& out) {
  out << "\n| Number | Action | Today | What it does |\n| ---: | --- | --- | --- |\n";
  size_t number = 0;
  for (const Action& action : actions) {
    const std::string today = action.pipeline.empty() ? "" : "`" + action.pipeline + "`";
    out << "| " << number++ << " | `" << action.name << "` | " << today << " | "
        << action.description << " |\n";
  }
}

void printExcluded(const std::vector<ExcludedPass>& excluded, llvm::raw_ostream& out) {
  out << "\n| Pass | Level | Why it is not an action |\n| --- | --- | --- |\n";
  for (const ExcludedPass& entry : excluded) {
    out << "| `" << entry.pass.name << "` | " << describe(entry.pass.level) << " | " << entry.reason
        << " |\n";
  }
}

// Returns LLVM's actions, which come before the project's own.
llvm::ArrayRef<Action> ofLlvm(llvm::ArrayRef<Action> actions) {
  return actions.take_until([](const Action& action) { return !action.options.empty(); });
}

void printPage(llvm::raw_ostream& out) {
  const ActionSpaces spaces = ActionSpaces::discover(Policy::builtin());
  const llvm::ArrayRef<Action> all = spaces.find("PassesAll")->actions;
  const llvm::ArrayRef<Action> withVariants = spaces.find("PassesWithParameters")->actions;
  const llvm::ArrayRef<Action> llvmActions = ofLlvm(all);
  const llvm::ArrayRef<Action> variants = withVariants.drop_front(all.size());
  const llvm::ArrayRef<Action> llvmVariants = ofLlvm(variants);
  const std::vector<ExcludedPass> excluded = withoutRepetitions(spaces.excluded);
  printIntroduction({llvmActions.size(), llvmVariants.size(), excluded.size()}, out);
  out << "\n## Actions\n";
  printActions(llvmActions, 0, out);
  out << "\n## Own passes\n\nThey end `PassesAll`.\n";
  printActions(all.drop_front(llvmActions.size()), llvmActions.size(), out);
  out << "\n## Variants\n\nThe actions that `PassesWithParameters` has in addition.\n";
  printActions(llvmVariants, all.size(), out);
  out << "\n## Own variants\n\nThey end `PassesWithParameters`.\n";
  printActions(variants.drop_front(llvmVariants.size()), all.size() + llvmVariants.size(), out);
  out << "\n## Pipelines\n\nThe action space `Pipelines`. Each `module-simplification-stage`, "
         "followed by the\n`module-optimization-stage` of the same level, does what `default` of "
         "that level does. `clang` is what clang\ndoes at a level to what it has read: it marks "
         "functions for size at `-Os` and `-Oz`, generates code that is\nposition independent, "
         "makes vectors of straight code at `-Oz` too, and does not unroll loops at `-O1`. "
         "Passes of\nplugins are no part of it. `clang<Oz>` and `clang<O3>` leave what the "
         "baselines of object sizes are made of,\n`default<Oz>` and `default<O3>` what those of "
         "IR instructions are.\n";
  printActions(spaces.find("Pipelines")->actions, 0, out);
  out << "\n## Legacy actions\n\nThe action space `Legacy124`. An action that does nothing keeps "
         "its number, for the sake of programs\nthat were trained with it; "
         "`action_had_no_effect` is true.\n";
  printLegacy(spaces.find("Legacy124")->actions, out);
  out << "\n## Excluded passes\n";
  printExcluded(excluded, out);
}

}  // namespace

}  // namespace compiler_gym::llvm_service

int main() {
  compiler_gym::llvm_service::printPage(llvm::outs());
  return 0;
}
