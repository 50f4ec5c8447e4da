// Functions of glibc that the oldest systems of the wheels lack. See tools/old_systems.py.
//
// Where the system has a better one of its own, it is used.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Returns the function of the system, or null.
static void* functionOfSystem(const char* name) {
#ifdef COMPILER_GYM_OLD_SYSTEM  // Tests.
  (void)name;
  return NULL;
#else
  return dlsym(RTLD_NEXT, name);
#endif
}

// glibc 2.32. False is always right: it means that there may be other threads.
char __libc_single_threaded = 0;

// glibc 2.33. Before, they were functions of another name in libc_nonshared.a.
int stat(const char* restrict path, struct stat* restrict status) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

int lstat(const char* restrict path, struct stat* restrict status) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat* status) { return (int)syscall(SYS_fstat, file, status); }

int fstatat(int folder, const char* restrict path, struct stat* restrict status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

// The two structures are the same on 64-bit systems.
int stat64(const char* restrict path, struct stat64* restrict status) {
  return stat(path, (struct stat*)status);
}

int lstat64(const char* restrict path, struct stat64* restrict status) {
  return lstat(path, (struct stat*)status);
}

int fstat64(int file, struct stat64* status) { return fstat(file, (struct stat*)status); }

int fstatat64(int folder, const char* restrict path, struct stat64* restrict status, int flags) {
  return fstatat(folder, path, (struct stat*)status, flags);
}

int mknodat(int folder, const char* path, mode_t mode, dev_t device) {
  // The kernel knows smaller numbers of devices.
  if (device != (unsigned)device) {
    errno = EINVAL;
    return -1;
  }
  return (int)syscall(SYS_mknodat, folder, path, mode, (unsigned)device);
}

int mknod(const char* path, mode_t mode, dev_t device) {
  return mknodat(AT_FDCWD, path, mode, device);
}

// glibc 2.33. The older one counts modulo 2^32.
struct mallinfo2 mallinfo2(void) {
  struct mallinfo2 (*const newer)(void) = functionOfSystem("mallinfo2");
  if (newer != NULL) return newer();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo older = mallinfo();
#pragma GCC diagnostic pop
  return (struct mallinfo2){
      .arena = (unsigned)older.arena,
      .ordblks = (unsigned)older.ordblks,
      .smblks = (unsigned)older.smblks,
      .hblks = (unsigned)older.hblks,
      .hblkhd = (unsigned)older.hblkhd,
      .usmblks = (unsigned)older.usmblks,
      .fsmblks = (unsigned)older.fsmblks,
      .uordblks = (unsigned)older.uordblks,
      .fordblks = (unsigned)older.fordblks,
      .keepcost = (unsigned)older.keepcost,
  };
}

// Other threads may open files between this function and the start of the program. They get the
// lowest free numbers.
enum { kFilesOfOtherThreads = 64 };

// glibc 2.34. The older posix_spawn closes only files whose numbers it is told. It ignores those
// that are not open.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int first) {
  int (*const newer)(posix_spawn_file_actions_t*, int) =
      functionOfSystem("posix_spawn_file_actions_addclosefrom_np");
  if (newer != NULL) return newer(actions, first);
  if (first < 0) return EBADF;
  DIR* const files = opendir("/proc/self/fd");
  if (files == NULL) return errno;
  int last = first;
  for (const struct dirent* file = readdir(files); file != NULL; file = readdir(files)) {
    const int number = atoi(file->d_name);
    if (number > last) last = number;
  }
  closedir(files);
  for (int file = first; file <= last + kFilesOfOtherThreads; ++file) {
    const int error = posix_spawn_file_actions_addclose(actions, file);
    if (error == EBADF) return 0;  // No file of this process can have the number.
    if (error != 0) return error;
  }
  return 0;
}

// glibc 2.36.
uint32_t arc4random(void) {
  uint32_t number = 0;
  // The kernel returns so few bytes at once, or none.
  while (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    if (errno != EINTR) abort();
  }
  return number;
}
