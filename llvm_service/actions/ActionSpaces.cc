#include "llvm_service/actions/ActionSpaces.h"

#include <map>
#include <optional>
#include <set>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

namespace compiler_gym::llvm_service {

namespace {

using Level = ListedPass::Level;

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

const char* describe(Level level) {
  switch (level) {
    case Level::kModule:
      return "module";
    case Level::kCgscc:
      return "call graph";
    case Level::kFunction:
      return "function";
    case Level::kLoopNest:
      return "loop nest";
    case Level::kLoop:
      return "loop";
  }
  llvm_unreachable("covered switch");
}

std::string wrap(Level level, const std::string& pass, bool memorySSA) {
  switch (level) {
    case Level::kModule:
      return pass;
    case Level::kCgscc:
      return "cgscc(" + pass + ")";
    case Level::kFunction:
      return "function(" + pass + ")";
    case Level::kLoopNest:
    case Level::kLoop:
      return (memorySSA ? "function(loop-mssa(" : "function(loop(") + pass + "))";
  }
  llvm_unreachable("covered switch");
}

// "name<parameters>" of a heading with parameters, split. Names such as "print<loops>" stay whole
// because they are listed among the passes without parameters.
ListedPass parseLine(llvm::StringRef line, Level level, bool withParameters) {
  if (!withParameters) {
    return {line.str(), level, ""};
  }
  // In "print<memoryssa><no-ensure-optimized-uses>" only the last brackets hold parameters.
  const size_t open = line.contains("><") ? line.find("><") + 1 : line.find('<');
  return {line.take_front(open).str(), level, line.drop_front(open + 1).drop_back().str()};
}

Action makeAction(const ListedPass& pass, const std::string& text, const Policy& policy) {
  std::string pipeline = wrap(pass.level, text, policy.needsMemorySSA(pass.name));
  std::string description = std::string("LLVM ") + describe(pass.level) + " pass " + text;
  return {std::move(pipeline), std::move(description)};
}

}  // namespace

std::vector<ListedPass> listPasses() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::PassBuilder().printPassNames(stream);

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

ActionSpaces ActionSpaces::discover(const Policy& policy) {
  ActionList all{"PassesAll", {}};
  std::vector<Action> variants;
  ActionSpaces spaces;
  std::set<std::string> seen;
  for (const ListedPass& pass : listPasses()) {
    if (std::optional<std::string> reason = policy.exclusionReason(pass.name)) {
      spaces.excluded.push_back({pass, *reason});
      continue;
    }
    Action action = makeAction(pass, policy.spelling(pass.name), policy);
    if (!seen.insert(action.pipeline).second) {
      continue;  // LLVM lists a few passes at two levels.
    }
    all.actions.push_back(std::move(action));
    for (const std::string& parameters : policy.variants(pass.name)) {
      variants.push_back(makeAction(pass, pass.name + "<" + parameters + ">", policy));
    }
  }
  ActionList withParameters{"PassesWithParameters", all.actions};
  withParameters.actions.insert(withParameters.actions.end(), variants.begin(), variants.end());
  spaces.lists = {std::move(all), std::move(withParameters)};
  return spaces;
}

const ActionList* ActionSpaces::find(const std::string& name) const {
  const auto found =
      llvm::find_if(lists, [&](const ActionList& list) { return list.name == name; });
  return found == lists.end() ? nullptr : &*found;
}

ActionSpace ActionList::toProto() const {
  CommandlineSpace commandline;
  for (const Action& action : actions) {
    commandline.add_name(action.pipeline);
    commandline.add_description(action.description);
  }
  ActionSpace space;
  space.set_name(name);
  space.mutable_space()->mutable_any_value()->PackFrom(commandline);
  return space;
}

}  // namespace compiler_gym::llvm_service
