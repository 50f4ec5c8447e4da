// Starts a program that was linked with the startup files of glibc 2.34 or newer. They leave it to
// the C library to run the constructors of the program. An older one leaves it to the startup
// files. See tools/old_systems.py.
//
// All C libraries run what they are given here, and nothing else if they are given something.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

typedef int (*Main)(int, char**, char**);
typedef void (*Constructor)(int, char**, char**);
typedef int (*Start)(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*);

struct Program {
  ElfW(Addr) base;
  const ElfW(Dyn) * entries;
};

// The program comes first, and its shared libraries later.
static int findProgram(struct dl_phdr_info* information, size_t size, void* result) {
  (void)size;
  struct Program* const program = result;
  program->base = information->dlpi_addr;
  for (int i = 0; i < information->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &information->dlpi_phdr[i];
    if (segment->p_type == PT_DYNAMIC) {
      program->entries = (const ElfW(Dyn)*)(program->base + segment->p_vaddr);
    }
  }
  return 1;
}

static void runConstructors(int count, char** arguments, char** environment) {
  struct Program program = {0, NULL};
  dl_iterate_phdr(findProgram, &program);
  Constructor first = NULL;
  const Constructor* others = NULL;
  size_t number = 0;
  for (const ElfW(Dyn)* entry = program.entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_INIT) first = (Constructor)(program.base + entry->d_un.d_ptr);
    if (entry->d_tag == DT_INIT_ARRAY) {
      others = (const Constructor*)(program.base + entry->d_un.d_ptr);
    }
    if (entry->d_tag == DT_INIT_ARRAYSZ) number = entry->d_un.d_val / sizeof(Constructor);
  }
  if (first != NULL) first(count, arguments, environment);
  for (size_t i = 0; i < number; ++i) others[i](count, arguments, environment);
}

#ifdef COMPILER_GYM_STARTUP_FILE
// Part of the startup file, which calls it in place of the function of the C library.
#define START_MAIN __compiler_gym_start_main
int __libc_start_main(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*);
static Start startOfSystem(void) { return __libc_start_main; }
__attribute__((visibility("hidden")))
#else
#define START_MAIN __libc_start_main
static Start startOfSystem(void) { return (Start)dlsym(RTLD_NEXT, "__libc_start_main"); }
#endif
int START_MAIN(Main main, int count, char** arguments, Constructor init, void (*end)(void),
               void (*endOfLoader)(void), void* stack) {
  const Constructor constructors = init != NULL ? init : runConstructors;
  return startOfSystem()(main, count, arguments, constructors, end, endOfLoader, stack);
}
