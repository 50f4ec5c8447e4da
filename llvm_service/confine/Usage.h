// The memory and disk that confined processes use together.
#pragma once

#include <cstdint>

namespace compiler_gym::confine {

// The usage of all child processes of this process, and of theirs. Requires /proc.
struct Usage {
  uint64_t memoryBytes = 0;
  uint64_t threads = 0;
  // Of files that are open, but have no name any more.
  uint64_t namelessBytes = 0;
};
// isSameUser: whether they have the user of this process. Then a process that hides its open files
// has too many.
Usage usageOfDescendants(uint64_t memoryLimit, bool isSameUser);

// Kills the direct child processes of this process.
void killChildren();

// Returns the size of a folder. Stops at the limit, which a file that is empty counts towards as
// well. A folder that hides its files exceeds it.
uint64_t sizeOfFolder(const char* folder, uint64_t limit);

// Returns how many threads a user has.
uint64_t threadsOfUser(unsigned user);

}  // namespace compiler_gym::confine
