// Starts the clang of the package compiler_gym_clang, which is beside this program as clang-real.
//
// A system without a C compiler has no header of C and no startup file either. There, and only
// there, clang gets the option --config=c-library/clang.cfg, which names those of the package.
// `clang --version` prints the file. This is the only place that decides it, for all who run clang.

#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder of the system. Tests choose another one.
#ifndef SYSTEM
#define SYSTEM ""
#endif

// One file of each group has to be there: headers, startup files of C, startup files of the compiler.
static const char *const kNeeded[] = {
    SYSTEM "/usr/include/stdio.h",
    SYSTEM "/usr/{lib/x86_64-linux-gnu,lib64,lib}/crt1.o",
    SYSTEM "/{usr/lib,usr/lib64,opt/rh/*/root/usr/lib}/gcc/x86_64*/*/crtbegin.o",
};

static int hasOwnLibrary(void) {
  for (size_t i = 0; i < sizeof(kNeeded) / sizeof(*kNeeded); ++i) {
    glob_t found;
    const int status = glob(kNeeded[i], GLOB_BRACE | GLOB_NOSORT, NULL, &found);
    globfree(&found);
    if (status == GLOB_NOMATCH) return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  static char folder[PATH_MAX], real[PATH_MAX + 32], option[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
  char *slash = length < 0 ? NULL : strrchr(folder, '/');
  char **arguments = calloc((size_t)argc + 2, sizeof(char *));
  if (slash == NULL || arguments == NULL) {
    perror("clang: cannot find its own folder");
    return 1;
  }
  *slash = '\0';
  snprintf(real, sizeof(real), "%s/clang-real", folder);
  slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  int count = 0;
  // Its name tells clang from clang++.
  arguments[count++] = argv[0];
  // The compiler proper, which clang calls with all it needs, has no such option.
  if (!(argc > 1 && strncmp(argv[1], "-cc1", 4) == 0) && !hasOwnLibrary()) {
    snprintf(option, sizeof(option), "--config=%s/c-library/clang.cfg", folder);
    arguments[count++] = option;
  }
  for (int i = 1; i < argc; ++i) arguments[count++] = argv[i];
  execv(real, arguments);
  fprintf(stderr, "clang: cannot run %s: %s\n", real, strerror(errno));
  return 1;
}
