// Part of the runtimes of sanitizers, which call it in place of sysconf. They were compiled with
// glibc 2.34 or newer, and ask for the size of a stack for signals. Older ones do not know it.

#include <unistd.h>

enum { kFormerSize = 8192 };  // The constant SIGSTKSZ of older headers.

// Weak, as a program may have two runtimes.
__attribute__((weak, visibility("hidden"))) long __compiler_gym_sysconf(int name) {
  const long value = sysconf(name);
  return value < 0 && name == _SC_SIGSTKSZ ? kFormerSize : value;
}
