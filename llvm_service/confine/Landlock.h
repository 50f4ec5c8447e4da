// Access rules of the kernel for files, for systems without namespaces.
#pragma once

#include "llvm_service/confine/Options.h"

namespace compiler_gym::confine {

// The version of the kernel's interface; 0 if there is none.
int landlockVersion();

// From this version on, signals and abstract sockets do not leave the confined processes.
constexpr int kScopedLandlock = 6;

// Refuses all files but those of the options and the system. It holds for all child processes, and
// cannot be undone. Returns false and sets errno if that fails.
bool installLandlock(const Options& options, int version);

}  // namespace compiler_gym::confine
