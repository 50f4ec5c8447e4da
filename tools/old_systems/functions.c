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
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
void arc4random_buf(void* bytes, size_t size) {
  for (char* place = bytes; size > 0;) {
    const ssize_t count = getrandom(place, size, 0);
    if (count > 0) {
      place += count;
      size -= (size_t)count;
    } else if (count == 0 || errno != EINTR) {
      abort();
    }
  }
}

uint32_t arc4random(void) {
  uint32_t number = 0;
  arc4random_buf(&number, sizeof(number));
  return number;
}

// glibc 2.38. Its headers give these names to calls of strtol and similar functions in C++ and with
// _GNU_SOURCE. The only difference is that they know binary numbers of C23, such as 0b101, where
// the base is 0 or 2. The older functions read a 0 there, and it is theirs that all systems get.
// They need other names here, since the headers would rename them, too.
#define CALL_OLDER(Number, name, Letter)                                                 \
  Number older_##name(const Letter* restrict, Letter** restrict, int) __asm__(#name);    \
  Number __isoc23_##name(const Letter* restrict text, Letter** restrict end, int base) { \
    return older_##name(text, end, base);                                                \
  }

CALL_OLDER(long, strtol, char)
CALL_OLDER(long long, strtoll, char)
CALL_OLDER(unsigned long, strtoul, char)
CALL_OLDER(unsigned long long, strtoull, char)
CALL_OLDER(intmax_t, strtoimax, char)
CALL_OLDER(uintmax_t, strtoumax, char)
CALL_OLDER(long, wcstol, wchar_t)
CALL_OLDER(long long, wcstoll, wchar_t)
CALL_OLDER(unsigned long, wcstoul, wchar_t)
CALL_OLDER(unsigned long long, wcstoull, wchar_t)

int olderVscanf(const char* restrict, va_list) __asm__("__isoc99_vscanf");
int olderVfscanf(FILE* restrict, const char* restrict, va_list) __asm__("__isoc99_vfscanf");
int olderVsscanf(const char* restrict, const char* restrict, va_list) __asm__("__isoc99_vsscanf");

int __isoc23_vscanf(const char* restrict format, va_list places) {
  return olderVscanf(format, places);
}

int __isoc23_vfscanf(FILE* restrict file, const char* restrict format, va_list places) {
  return olderVfscanf(file, format, places);
}

int __isoc23_vsscanf(const char* restrict text, const char* restrict format, va_list places) {
  return olderVsscanf(text, format, places);
}

int __isoc23_scanf(const char* restrict format, ...) {
  va_list places;
  va_start(places, format);
  const int count = olderVscanf(format, places);
  va_end(places);
  return count;
}

int __isoc23_fscanf(FILE* restrict file, const char* restrict format, ...) {
  va_list places;
  va_start(places, format);
  const int count = olderVfscanf(file, format, places);
  va_end(places);
  return count;
}

int __isoc23_sscanf(const char* restrict text, const char* restrict format, ...) {
  va_list places;
  va_start(places, format);
  const int count = olderVsscanf(text, format, places);
  va_end(places);
  return count;
}
