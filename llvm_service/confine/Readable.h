// The files and folders that a confined program may read besides those of the system.
#pragma once

#include "llvm_service/confine/Options.h"

namespace compiler_gym::confine {

// Finds what the options of the command line name: the working directory, and what may be read.
// Leaves out what is missing, part of the working directory or of /dev, /proc and /sys, neither a
// file nor a folder, and folders that are too wide. Returns false and sets errno if there is no
// working directory.
bool resolvePaths(Options* options);

// The rule in words, for --help.
extern const char kRuleOfReadable[];

}  // namespace compiler_gym::confine
