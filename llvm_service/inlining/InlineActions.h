#pragma once

#include <string>
#include <vector>

#include "llvm_service/actions/ActionSpaces.h"
#include "llvm_service/passes/InlineDecisions.h"

namespace compiler_gym::llvm_service {

/// The decisions that are the actions of a game, by their numbers.
struct InlineActions {
  std::string name;
  /// True if they answer the inliner's questions, in its order.
  bool isInOrder;
  std::vector<InlineDecision> decisions;

  /// Returns the decisions as actions, whose names are the texts of the decisions.
  ActionList toList() const;
};

/// InlinerOrder: keep, inline, default, as an answer to the question that the inliner asks next.
/// AnyOrder: the same three for each of kInlineSites calls, then for each of kInlineCallees
/// functions that are called. What a program does not have is decided about without an effect.
const std::vector<InlineActions>& listInlineActions();

constexpr size_t kInlineSites = 768;
constexpr size_t kInlineCallees = 256;

}  // namespace compiler_gym::llvm_service
