// A filter of system calls.
#pragma once

namespace compiler_gym::confine {

// Whether the kernel has filters of system calls.
bool hasSeccomp();

// Refuses the system calls with which a program could reach other programs, the network or parts of
// the kernel that it does not need. It holds for all child processes, and cannot be undone. Returns
// false and sets errno if that fails.
//
// isShared: the program runs as a user who has other programs and files.
bool installSeccomp(bool hasNetwork, bool isShared);

}  // namespace compiler_gym::confine
