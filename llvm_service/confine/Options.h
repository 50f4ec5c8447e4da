// The command line of compiler_gym-confine.
#pragma once

#include <cstdint>

namespace compiler_gym::confine {

// A file or folder.
struct NamedPath {
  // The absolute path that it was named by. The program finds it there.
  const char* name;
  // The same without links.
  const char* real;
};

// What a program may use. Numbers are limits.
struct Options {
  double seconds = 10;
  uint64_t cpuSeconds = 0;  // Of each process; 0 for none.
  uint64_t memoryBytes = uint64_t{1} << 30;
  uint64_t processes = 64;
  uint64_t fileBytes = uint64_t{64} << 20;
  uint64_t diskBytes = uint64_t{256} << 20;
  uint64_t files = 256;
  // The working directory, and the only one that may be written to.
  NamedPath folder = {};
  // Files and folders that may be read besides those of the system. See Readable.h.
  NamedPath* readable = nullptr;
  int readableCount = 0;
  bool network = false;
  // Whether the size of the address space is limited. Sanitizers reserve terabytes.
  bool limitAddresses = true;
  // Tests use neither on systems that have both.
  bool namespaces = true;
  bool landlock = true;
  // Receives the facts about the run as lines of text.
  int report = -1;
  // Sets everything up, and runs nothing.
  bool isProbe = false;
  // Prints the options, and runs nothing.
  bool isHelp = false;
  char** command = nullptr;
};

// Parses the command line. Prints the error and returns false if it is wrong.
bool parseOptions(int argc, char** argv, Options* options);

// Prints the options.
void printHelp();

}  // namespace compiler_gym::confine
