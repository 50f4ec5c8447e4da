// Moves the code and constants of a process to large pages.
//
// A forked copy of a process begins without the pages of its files, and gets them by page faults,
// sixteen at a time. For programs as large as clang, these faults and the removal of the pages take
// longer than main. Large pages of memory are inherited, and the processor finds them faster.

#pragma once

namespace compiler_gym::util {

// Copies what libraries and the program have in segments of at least 2 MB that are never written
// to pages of 2 MB, which take its place. Leaves all as it is if the kernel has no such pages, or
// they would take more than an eighth of the memory that is available, and returns false then.
//
// No other thread may run.
bool moveToLargePages();

}  // namespace compiler_gym::util
