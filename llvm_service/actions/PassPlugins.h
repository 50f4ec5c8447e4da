#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/actions/Action.h"

namespace compiler_gym::llvm_service {

/// A shared library that adds passes to LLVM, as `opt -load-pass-plugin=` loads it.
struct LoadedPlugin {
  llvm::PassPlugin plugin;
  /// Its passes.
  std::vector<Action> actions;

  /// The option that makes `opt` load it.
  std::string optOption() const;
};

/// Loads plugins, which stay loaded as long as the process lives.
///
/// @param specifications separated by semicolons, e.g. "a.so;b.so:name,function(other)". LLVM
///     cannot list the passes of a plugin. They are named after the colon, with or without the
///     adaptors of a pipeline, and nothing there means none; or else the library has a function
///         extern "C" const char* compilerGymPasses();
///     that returns a line for each pass, "name: what it does".
/// @return an error that names the plugin if it cannot be loaded or names no passes, or if LLVM
///     does not understand a name with the plugin and those before it.
llvm::Expected<std::vector<LoadedPlugin>> loadPlugins(llvm::StringRef specifications);

}  // namespace compiler_gym::llvm_service
