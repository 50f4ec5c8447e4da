#pragma once

#include <string>
#include <vector>

namespace compiler_gym::llvm_service {

/// One action: one pass of LLVM, or a part of a pipeline.
struct Action {
  /// What it is called, e.g. "function(loop-mssa(licm))".
  std::string name;
  /// As `opt -passes=` spells it inside of `module(...)`, with its adaptors. Empty for an action
  /// that does nothing.
  std::string pipeline;
  /// One line about it.
  std::string description;
  /// What `opt` has to be given besides, e.g. "-load-pass-plugin=/x/y.so"; often nothing.
  std::vector<std::string> options = {};
  /// Whether it is known to leave an invalid module now and then.
  bool mayBreakModule = false;
};

}  // namespace compiler_gym::llvm_service
