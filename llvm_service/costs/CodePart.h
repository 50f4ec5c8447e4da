#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace compiler_gym::llvm_service {

/// The contribution of some consecutive functions to an object file for x86-64.
///
/// Code optimised for size is not aligned, and constants are as large as their alignment, so sizes
/// are additive with two exceptions: the length of a jump to another function depends on the
/// distance, and the records of frames are padded at the end.
struct CodePart {
  struct Place {
    std::string section;
    int64_t offset;
  };

  /// A jump to a function that is not among these, in its long form.
  struct Jump {
    std::string target;
    /// The end of the jump instruction, from which the distance counts.
    Place end;
  };

  /// Bytes in each section with code or constants.
  std::map<std::string, int64_t> sections;
  /// Bytes of the records of frames, and of the header that they have in common.
  int64_t frames = 0;
  int64_t frameHeader = 0;
  /// The offset of each function.
  std::map<std::string, Place> functions;
  std::vector<Jump> jumps;
};

/// Splits an object file into its parts.
///
/// @param object An object file with only the code of these functions.
/// @return False if the size of some part may not be additive.
[[nodiscard]] bool readCodePart(llvm::StringRef object, CodePart& part);

}  // namespace compiler_gym::llvm_service
