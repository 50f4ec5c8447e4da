// Starts the clang of the package compiler_gym_clang, or a second copy of it with a C library.
//
// A system without a C compiler has no C headers and startup files. Only there, it starts
// c-library/clang, which reads its options from the file clang.cfg beside it. They name the headers
// and startup files of the package. `clang --version` prints the name of the file. All users of
// clang share this decision.

#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// SYSTEM is the folder of the system, which tests choose, and MACHINE its processor.

// One file of each group must exist: headers, startup files of C, startup files of GCC.
static const char *const kNeeded[] = {
    SYSTEM "/usr/include/stdio.h",
    SYSTEM "/usr/{lib/" MACHINE "-linux-gnu,lib64,lib}/crt1.o",
    SYSTEM "/{usr/lib,usr/lib64,opt/rh/*/root/usr/lib}/gcc/" MACHINE "*/*/crtbegin.o",
};

static int systemHasLibrary(void) {
  for (size_t i = 0; i < sizeof(kNeeded) / sizeof(*kNeeded); ++i) {
    glob_t found;
    const int status = glob(kNeeded[i], GLOB_BRACE | GLOB_NOSORT, NULL, &found);
    if (status == GLOB_NOMATCH) return 0;
    globfree(&found);
  }
  return 1;
}

// Runs before main, because llvm_service/starter/ProgramStarter.cc makes a program wait in place of
// main. So the waiting program is clang.
__attribute__((constructor)) static void start(int count, char **arguments) {
  (void)count;
  static char path[PATH_MAX + 32];
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  // The package has this program in its folder bin.
  char *end = length < 0 ? NULL : strrchr(path, '/');
  if (end != NULL) {
    *end = '\0';
    end = strrchr(path, '/');
  }
  if (end != NULL) {
    strcpy(end, systemHasLibrary() ? "/bin/clang-real" : "/c-library/clang");
    // The name in the arguments distinguishes clang from clang++.
    execv(path, arguments);
  }
  fprintf(stderr, "clang: cannot run %s: %s\n", path, strerror(errno));
  exit(1);
}

int main(void) { return 1; }
