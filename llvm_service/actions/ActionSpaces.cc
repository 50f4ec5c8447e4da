#include "llvm_service/actions/ActionSpaces.h"

#include <boost/filesystem.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "compiler_gym/util/Subprocess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm_service/actions/Descriptions.h"
#include "llvm_service/actions/LegacyActions.h"
#include "llvm_service/actions/PipelineParser.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using Level = ListedPass::Level;

// Built from the same sources: see //llvm_service:compiler_gym-llvm-passes.
constexpr char kOwnPassesPlugin[] = "compiler_gym-llvm-passes.so";

// The headings of LLVM's list that introduce IR passes; passes with parameters have a heading of
// their own.
std::optional<Level> levelOfHeading(llvm::StringRef heading) {
  static const std::map<llvm::StringRef, Level> kLevels = {
      {"Module passes", Level::kModule},     {"CGSCC passes", Level::kCgscc},
      {"Function passes", Level::kFunction}, {"LoopNest passes", Level::kLoopNest},
      {"Loop passes", Level::kLoop},
  };
  heading.consume_back(":");
  heading.consume_back(" with params");
  const auto found = kLevels.find(heading);
  return found == kLevels.end() ? std::nullopt : std::make_optional(found->second);
}

// Splits "name<parameters>" under a heading for passes with parameters. Names such as
// "print<loops>" stay whole, because LLVM lists them under the other headings.
ListedPass parseLine(llvm::StringRef line, Level level, bool withParameters) {
  if (!withParameters) {
    return {line.str(), level, ""};
  }
  // In "print<memoryssa><no-ensure-optimized-uses>" only the last brackets hold parameters.
  const size_t open = line.contains("><") ? line.find("><") + 1 : line.find('<');
  return {line.take_front(open).str(), level, line.drop_front(open + 1).drop_back().str()};
}

// Returns the description of a pass from descriptions.yaml, which may lack passes of a new LLVM.
std::string describePass(const ListedPass& pass, const std::string& text, const Policy& policy) {
  const Descriptions& descriptions = Descriptions::builtin();
  if (auto description = descriptions.find(text)) {
    return *description;
  }
  if (auto description = descriptions.find(pass.name)) {
    return text == pass.name || text == policy.spelling(pass.name)
               ? *description
               : *description + ". Here with the parameters of " + text;
  }
  return std::string("A ") + describe(pass.level) + " pass of LLVM that has no description yet";
}

Action makeAction(const ListedPass& pass, const std::string& text, const Policy& policy) {
  const std::string pipeline = withAdaptors(pass.level, text, policy.needsMemorySSA(pass.name));
  Action action = {pipeline, pipeline, describePass(pass, text, policy)};
  action.mayBreakModule = policy.mayBreakModules(pass.name);
  return action;
}

// Joins words so that a shell splits them in the same places.
std::string shellWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool isPlain = llvm::all_of(
        word, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("-_=./,:+@%").contains(c); });
    text += (text.empty() ? "" : " ") + (isPlain ? word : util::quotedForShell(word));
  }
  return text;
}

/// Collects the actions of all spaces.
class Discovery {
 public:
  Discovery(const Policy& policy, const std::vector<LoadedPlugin>& plugins) : policy_(policy) {
    for (const LoadedPlugin& plugin : plugins) {
      parser_.load(plugin.plugin);
      pluginOptions_.push_back(plugin.optOption());
    }
  }

  ActionSpaces run(const std::vector<LoadedPlugin>& plugins) {
    addLlvmPasses();
    addPipelines();
    addOwnPasses();
    for (const LoadedPlugin& plugin : plugins) {
      for (const Action& action : plugin.actions) {
        add(all_, action);
      }
    }
    std::vector<Action> withVariants = all_;
    llvm::append_range(withVariants, variants_);
    const auto parses = [this](const std::string& pipeline) {
      return parser_.understands(pipeline);
    };
    spaces_.lists = {{"PassesAll", all_},
                     {"PassesWithParameters", std::move(withVariants)},
                     {"Legacy124", makeLegacyActions(policy_, Descriptions::builtin(), parses)},
                     {"Pipelines", std::move(pipelines_)}};
    addPluginOptions();
    return std::move(spaces_);
  }

 private:
  void addLlvmPasses() {
    for (const ListedPass& pass : listPasses()) {
      if (std::optional<std::string> reason = policy_.exclusionReason(pass.name)) {
        spaces_.excluded.push_back({pass, *reason});
        continue;
      }
      if (!add(all_, makeAction(pass, policy_.spelling(pass.name), policy_))) {
        continue;  // LLVM lists a few passes at two levels.
      }
      for (const std::string& parameters : policy_.variants(pass.name)) {
        Action variant = makeAction(pass, pass.name + "<" + parameters + ">", policy_);
        if (parser_.understands(variant.pipeline)) {  // Another LLVM may have other parameters.
          add(variants_, std::move(variant));
        }
      }
    }
  }

  // All versions of LLVM have these pipelines, but not all list them. The pipeline of O0 does
  // nothing.
  void addPipelines() {
    const ListedPass pass{"default", PassLevel::kModule, ""};
    for (const char* level : {"O1", "O2", "O3", "Os", "Oz"}) {
      add(pipelines_, makeAction(pass, baselinePipeline(level), policy_));
    }
  }

  void addOwnPasses() {
    for (const OwnPass& pass : listOwnPasses()) {
      std::vector<Action>& list = pass.parameters.empty() ? all_ : variants_;
      const std::vector<std::string> pipelines = pass.pipelines();
      for (size_t i = 0; i < pipelines.size(); ++i) {
        const std::string parameter =
            pass.parameters.empty() ? "" : ". Here: " + pass.parameters[i];
        const Action action = {
            pipelines[i], pipelines[i], pass.description + parameter, {ownPassesOption()}};
        if (pass.spaces != OwnPass::Spaces::kPipelines) {
          add(list, action);
        }
        if (pass.spaces != OwnPass::Spaces::kPasses) {
          pipelines_.push_back(action);
        }
      }
    }
  }

  bool add(std::vector<Action>& list, Action action) {
    const bool isNew = seen_.insert(action.pipeline).second;
    if (isNew) {
      list.push_back(std::move(action));
    }
    return isNew;
  }

  // A plugin may change any pass, e.g. by an analysis or at the extension points of a pipeline, so
  // `opt` must always load it.
  void addPluginOptions() {
    for (ActionList& list : spaces_.lists) {
      for (Action& action : list.actions) {
        if (!action.pipeline.empty()) {
          llvm::append_range(action.options, pluginOptions_);
        }
      }
    }
  }

  const Policy& policy_;
  PipelineParser parser_;
  std::vector<std::string> pluginOptions_;
  std::set<std::string> seen_;
  std::vector<Action> all_;
  std::vector<Action> variants_;
  std::vector<Action> pipelines_;
  ActionSpaces spaces_;
};

}  // namespace

std::vector<ListedPass> listPasses() {
  const std::string text = printPassNames();
  std::vector<ListedPass> passes;
  std::optional<Level> level;
  bool withParameters = false;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    if (!line.starts_with(" ")) {
      level = levelOfHeading(line);
      withParameters = line.ends_with(" with params:");
    } else if (level) {
      passes.push_back(parseLine(line.trim(), *level, withParameters));
    }
  }
  return passes;
}

ActionSpaces ActionSpaces::discover(const Policy& policy,
                                    const std::vector<LoadedPlugin>& plugins) {
  return Discovery(policy, plugins).run(plugins);
}

std::string ownPassesOption() {
  const boost::filesystem::path program = boost::filesystem::read_symlink("/proc/self/exe");
  return "-load-pass-plugin=" + (program.parent_path() / kOwnPassesPlugin).string();
}

const ActionList* ActionSpaces::find(const std::string& name) const {
  const auto found =
      llvm::find_if(lists, [&](const ActionList& list) { return list.name == name; });
  return found == lists.end() ? nullptr : &*found;
}

ActionSpace ActionList::toProto() const {
  CommandlineSpace commandline;
  for (const Action& action : actions) {
    commandline.add_name(action.name);
    commandline.add_description(action.description);
    commandline.add_flag(action.pipeline);
    commandline.add_option(shellWords(action.options));
  }
  ActionSpace space;
  space.set_name(name);
  space.mutable_space()->mutable_any_value()->PackFrom(commandline);
  return space;
}

}  // namespace compiler_gym::llvm_service
