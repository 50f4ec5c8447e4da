// The process that becomes the confined program.
#pragma once

#include "llvm_service/confine/Options.h"

namespace compiler_gym::confine {

// The means of the system that are used.
struct Means {
  bool namespaces = false;
  // The version; 0 for none.
  int landlock = 0;
  bool seccomp = false;
  // The id of the user of the program, and whether no other program has it.
  unsigned user = 0;
  bool ownUser = false;
  // Whether the limit of processes counts those of the program alone.
  bool countsOwnProcesses = false;
};

// Writes a line to the report.
[[gnu::format(printf, 2, 3)]] void report(const Options& options, const char* format, ...);

// Gives up all rights, and runs the program. Never returns.
[[noreturn]] void becomeProgram(const Options& options, const Means& means);

}  // namespace compiler_gym::confine
