#pragma once

#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/OptimizationLevel.h"

namespace compiler_gym::llvm_service {

/// A level of clang with optimisation.
struct ClangLevel {
  /// The pipeline that clang builds. From LLVM 23 on, -Os and -Oz have that of -O2, and only the
  /// attributes of functions ask for small code.
  llvm::OptimizationLevel pipeline;
  /// 0 for speed, 1 for -Os, 2 for -Oz.
  unsigned size = 0;
};

/// Returns the level of that name, from "O1" to "Oz"; or nothing.
std::optional<ClangLevel> levelOf(llvm::StringRef name);

/// Returns the text of the default pipeline of a level, such as "default<Oz>".
///
/// @param name is one of those of levelOf().
/// @param version is the major version of LLVM. From 23 on there is no default<Os> or default<Oz>:
///     their place is taken by default<O2>.
std::string defaultPipeline(llvm::StringRef name, unsigned version = LLVM_VERSION_MAJOR);

/// Returns the same for programs whose functions are not marked for size: from LLVM 23 on, that of
/// -Os and -Oz marks them first, as clang's front end does. Up to 22 it does not, as in `opt`.
std::string baselinePipeline(llvm::StringRef name, unsigned version = LLVM_VERSION_MAJOR);

}  // namespace compiler_gym::llvm_service
