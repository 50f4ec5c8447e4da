#pragma once

#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "llvm_service/actions/Policy.h"

namespace compiler_gym::llvm_service {

/// One action: one pass of LLVM, as `opt -passes=` spells it inside `module(...)`.
struct Action {
  /// With its adaptors, e.g. "function(loop-mssa(licm))".
  std::string pipeline;
  /// One line about it.
  std::string description;
};

/// A pass as LLVM lists it.
struct ListedPass {
  enum class Level { kModule, kCgscc, kFunction, kLoopNest, kLoop };

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

/// What a policy makes of the passes that LLVM lists.
struct ActionSpaces {
  /// PassesAll: each pass once. PassesWithParameters: the same, then their variants.
  std::vector<ActionList> lists;
  std::vector<ExcludedPass> excluded;

  /// Asks LLVM for its passes and sorts them by the policy.
  static ActionSpaces discover(const Policy& policy);

  /// The list of that name, or null.
  const ActionList* find(const std::string& name) const;
};

/// The IR passes that LLVM lists, in its order. Machine passes and analyses are left out: they
/// are not part of a module pipeline.
std::vector<ListedPass> listPasses();

}  // namespace compiler_gym::llvm_service
