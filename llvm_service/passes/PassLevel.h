#pragma once

#include <string>

#include "llvm/Support/ErrorHandling.h"

namespace compiler_gym::llvm_service {

/// The unit of IR that a pass works on.
enum class PassLevel { kModule, kCgscc, kFunction, kLoopNest, kLoop };

/// The level in words, e.g. "call graph".
inline const char* describe(PassLevel level) {
  switch (level) {
    case PassLevel::kModule:
      return "module";
    case PassLevel::kCgscc:
      return "call graph";
    case PassLevel::kFunction:
      return "function";
    case PassLevel::kLoopNest:
      return "loop nest";
    case PassLevel::kLoop:
      return "loop";
  }
  llvm_unreachable("covered switch");
}

/// The text of a pass inside of `module(...)`: with the adaptors that its level needs.
///
/// @param memorySSA whether a loop pass needs MemorySSA.
inline std::string withAdaptors(PassLevel level, const std::string& pass, bool memorySSA = false) {
  switch (level) {
    case PassLevel::kModule:
      return pass;
    case PassLevel::kCgscc:
      return "cgscc(" + pass + ")";
    case PassLevel::kFunction:
      return "function(" + pass + ")";
    case PassLevel::kLoopNest:
    case PassLevel::kLoop:
      return (memorySSA ? "function(loop-mssa(" : "function(loop(") + pass + "))";
  }
  llvm_unreachable("covered switch");
}

}  // namespace compiler_gym::llvm_service
