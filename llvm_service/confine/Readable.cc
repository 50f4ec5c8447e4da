#include "llvm_service/confine/Readable.h"

#include <pwd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace compiler_gym::confine {

const char kRuleOfReadable[] =
    "  Links are followed. These are left out, as if they did not exist:\n"
    "  - /dev, /proc and /sys, which each program has of its own, but files of /dev/shm are "
    "shown;\n"
    "  - what is neither a file nor a folder;\n"
    "  - folders that are too wide: those that are or hold the home of a user, temporary files, "
    "the\n"
    "    working directory, or settings and data of the system. They are /, /boot, /etc, /home,\n"
    "    /media, /mnt, /root, /run, /srv, /tmp and /var, the folders directly in /home, /run,\n"
    "    /run/user and /var, and the homes in /etc/passwd. Name a file or folder below instead.\n";

namespace {

// Parts of the system that each program has of its own.
constexpr const char* kOwn[] = {"/dev", "/proc", "/sys"};
constexpr char kSharedMemory[] = "/dev/shm";

constexpr const char* kWide[] = {"/boot", "/dev/shm", "/etc", "/home", "/media", "/mnt",
                                 "/root", "/run",     "/srv", "/tmp",  "/var"};
// Each folder in these is the home of a user, or belongs to one service.
constexpr const char* kParentsOfWide[] = {"/home", "/run", "/run/user", "/var"};

// Returns whether a path is a folder or below it. Both have no links.
bool isIn(const char* path, const char* folder) {
  const size_t size = strlen(folder);
  if (size == 1) return true;  // The root.
  return strncmp(path, folder, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

bool isDirectlyIn(const char* path, const char* folder) {
  return isIn(path, folder) && path[strlen(folder)] == '/' &&
         strchr(path + strlen(folder) + 1, '/') == nullptr;
}

bool isOwn(const char* path) {
  if (isIn(path, kSharedMemory)) return false;
  for (const char* each : kOwn) {
    if (isIn(path, each)) return true;
  }
  return false;
}

// Returns whether a folder is or holds the home of a user.
bool holdsHome(const char* folder) {
  FILE* users = fopen("/etc/passwd", "re");
  if (users == nullptr) return false;
  bool isFound = false;
  while (const passwd* user = isFound ? nullptr : fgetpwent(users)) {
    char* home = realpath(user->pw_dir, nullptr);
    isFound = home != nullptr && isIn(home, folder);
    free(home);
  }
  fclose(users);
  return isFound;
}

bool isWide(const char* folder, const char* workingDirectory) {
  if (isIn(workingDirectory, folder)) return true;
  for (const char* each : kWide) {
    if (isIn(each, folder)) return true;
  }
  for (const char* each : kParentsOfWide) {
    if (isDirectlyIn(folder, each)) return true;
  }
  // Those of the system's own users are there. All programs see these folders anyway.
  return !isIn(folder, "/usr") && holdsHome(folder);
}

// Returns whether a path stays below the root wherever its folders lead.
bool staysBelowRoot(const char* path) {
  int depth = 0;
  while (*path != '\0') {
    const size_t size = strcspn(path, "/");
    const bool isUp = size == 2 && strncmp(path, "..", 2) == 0;
    const bool isNothing = size == 0 || (size == 1 && *path == '.');
    depth += isUp ? -1 : isNothing ? 0 : 1;
    if (depth < 0) return false;
    path += size + (path[size] == '/' ? 1 : 0);
  }
  return true;
}

// Returns whether the target of links is to be shown.
bool isToBeShown(const char* real, const char* workingDirectory) {
  struct stat status{};
  if (isOwn(real) || isIn(real, workingDirectory) || stat(real, &status) != 0) return false;
  if (S_ISDIR(status.st_mode)) return !isWide(real, workingDirectory);
  return S_ISREG(status.st_mode);
}

}  // namespace

bool resolvePaths(Options* options) {
  char* const folder = realpath(options->folder.name, nullptr);
  if (folder == nullptr) return false;
  options->folder.real = folder;
  int kept = 0;
  for (int i = 0; i < options->readableCount; ++i) {
    const char* name = options->readable[i].name;
    // In the working directory, links may be those of a program that ran before.
    if (isOwn(name) || isIn(name, folder) || isIn(name, options->folder.name)) continue;
    char* const real = realpath(name, nullptr);
    if (real != nullptr && isToBeShown(real, folder)) {
      options->readable[kept++] = {staysBelowRoot(name) ? name : real, real};
    }
  }
  options->readableCount = kept;
  return true;
}

}  // namespace compiler_gym::confine
