#pragma once

#include <string>
#include <vector>

namespace compiler_gym::llvm_service {

/// One action: one pass of LLVM, or a part of a pipeline.
struct Action {
  /// The name, e.g. "function(loop-mssa(licm))".
  std::string name;
  /// The `opt -passes=` text inside of `module(...)`, with its adaptors. Empty for an action
  /// that does nothing.
  std::string pipeline;
  /// One line about it.
  std::string description;
  /// Additional options for `opt`, e.g. "-load-pass-plugin=/x/y.so"; often none.
  std::vector<std::string> options = {};
  /// True if it is known to produce invalid modules occasionally.
  bool mayBreakModule = false;
};

}  // namespace compiler_gym::llvm_service
