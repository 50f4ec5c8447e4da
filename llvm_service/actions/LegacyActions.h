#pragma once

#include <functional>
#include <vector>

#include "llvm_service/actions/Action.h"
#include "llvm_service/actions/Descriptions.h"
#include "llvm_service/actions/Policy.h"

namespace compiler_gym::llvm_service {

/// The 124 actions of CompilerGym 0.2.5, in their order, with their names of today.
///
/// The table is compiler_gym/compat/legacy_actions.json. Indices are those of programs
/// trained with that release, so an action never goes away: one whose pass is gone, is not in this
/// LLVM, or is excluded by the policy does nothing, and its description says why.
///
/// @param parses whether LLVM understands a pipeline.
std::vector<Action> makeLegacyActions(const Policy& policy, const Descriptions& descriptions,
                                      const std::function<bool(const std::string&)>& parses);

}  // namespace compiler_gym::llvm_service
