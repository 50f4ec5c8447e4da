#pragma once

#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "llvm_service/actions/Action.h"
#include "llvm_service/actions/PassPlugins.h"
#include "llvm_service/actions/Policy.h"
#include "llvm_service/passes/PassLevel.h"

namespace compiler_gym::llvm_service {

/// A pass as LLVM lists it.
struct ListedPass {
  using Level = PassLevel;

  std::string name;
  Level level;
  /// The parameters that LLVM says it accepts, e.g. "memssa"; empty if none.
  std::string parameters;
};

/// A pass that is not an action.
struct ExcludedPass {
  ListedPass pass;
  std::string reason;
};

/// A named list of actions. An action is its index in the list.
struct ActionList {
  std::string name;
  std::vector<Action> actions;

  /// The space as the service declares it: a CommandlineSpace.
  ActionSpace toProto() const;
};

/// All lists of actions.
struct ActionSpaces {
  /// PassesAll: each pass once, those of LLVM, then the project's own, then those of plugins.
  /// PassesWithParameters: the same, then their variants with parameters.
  /// Legacy124: the actions of CompilerGym 0.2.5 (see LegacyActions.h).
  /// Pipelines: LLVM's default pipelines and their parts.
  std::vector<ActionList> lists;
  std::vector<ExcludedPass> excluded;

  /// Asks LLVM for its passes, sorts them by the policy, and adds the others.
  ///
  /// @param plugins the plugins that are loaded for every action.
  static ActionSpaces discover(const Policy& policy, const std::vector<LoadedPlugin>& plugins = {});

  /// Returns the list of that name, or null.
  const ActionList* find(const std::string& name) const;
};

/// The option that loads the project's own passes into `opt`, from the plugin beside this program.
std::string ownPassesOption();

/// The IR passes that LLVM lists, in its order. Machine passes and analyses are left out: they
/// are not part of a module pipeline.
std::vector<ListedPass> listPasses();

}  // namespace compiler_gym::llvm_service
