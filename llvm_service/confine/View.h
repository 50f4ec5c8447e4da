// The file system that a confined program sees, in a mount namespace.
#pragma once

#include "llvm_service/confine/Options.h"

namespace compiler_gym::confine {

// Replaces the root of the file system of this process, which has a mount and a process namespace
// of its own. Returns null, or the step that failed; errno is the reason.
const char* enterView(const Options& options);

}  // namespace compiler_gym::confine
