#include "llvm_service/confine/View.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "llvm_service/confine/SystemFiles.h"

namespace compiler_gym::confine {

namespace {

// The steps between the two roots: the old one is at /old, the new one is made at /new.
constexpr char kBase[] = "/tmp";
constexpr char kOld[] = "/old";
constexpr char kNew[] = "/new";

constexpr unsigned long kReadOnly = MS_RDONLY | MS_NOSUID | MS_NODEV;

struct Path {
  Path(const char* root, const char* path) { snprintf(text, sizeof(text), "%s%s", root, path); }
  char text[PATH_MAX];
};

bool isLink(const char* path) {
  struct stat status{};
  return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

// Creates the folders above a path. Follows no link, which could lead to the old root.
bool makeParents(const char* path) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof(folder), "%s", path);
  for (char* slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if ((mkdir(folder, 0755) != 0 && errno != EEXIST) || isLink(folder)) return false;
    *slash = '/';
  }
  return true;
}

bool isSameFile(const char* first, const char* second) {
  struct stat one{};
  struct stat two{};
  return stat(first, &one) == 0 && stat(second, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

// Creates an empty file or folder to mount another one on.
bool makeMountPoint(const char* source, const char* target) {
  struct stat status{};
  if (stat(source, &status) != 0 || !makeParents(target) || isLink(target)) return false;
  if (access(target, F_OK) == 0) return true;
  if (S_ISDIR(status.st_mode)) return mkdir(target, 0755) == 0;
  const int file = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
  return file >= 0;
}

struct MountAttributes {  // From <linux/mount.h>.
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t userNamespace;
};

bool setFlags(const char* target, unsigned long flags) {
  constexpr long kMountSetattr = 442;
  constexpr unsigned kRecursive = 0x8000;
  // The numbers of the flags are those of mount(2).
  MountAttributes attributes = {flags, 0, 0, 0};
  if (syscall(kMountSetattr, AT_FDCWD, target, kRecursive, &attributes, sizeof(attributes)) == 0) {
    return true;
  }
  if (errno != ENOSYS) return false;
  // An older kernel. Flags that are set must stay.
  struct statvfs status{};
  if (statvfs(target, &status) != 0) return false;
  const unsigned long kept = status.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY);
  return mount(nullptr, target, nullptr, MS_REMOUNT | MS_BIND | flags | kept, nullptr) == 0;
}

// Shows a path of the old root, which has no links, at a place of the new one.
bool show(const char* path, const char* place, unsigned long flags) {
  const Path source(kOld, path);
  const Path target(kNew, place);
  if (isSameFile(source.text, target.text)) return true;
  return makeMountPoint(source.text, target.text) &&
         mount(source.text, target.text, nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         setFlags(target.text, flags);
}

bool showSystemFile(const char* path) {
  const Path source(kOld, path);
  struct stat status{};
  if (lstat(source.text, &status) != 0) return true;
  if (!S_ISLNK(status.st_mode)) return show(path, path, kReadOnly);
  char link[PATH_MAX];
  const ssize_t size = readlink(source.text, link, sizeof(link) - 1);
  if (size < 0) return false;
  link[size] = '\0';
  const Path target(kNew, path);
  return makeParents(target.text) && symlink(link, target.text) == 0;
}

bool makeDevices() {
  for (const char* path : kDevices) {
    // In a user namespace, flags that the old mount has cannot be removed; none have to be.
    if (access(Path(kOld, path).text, F_OK) == 0 && !show(path, path, MS_NOSUID)) return false;
  }
  return symlink("/proc/self/fd", "/new/dev/fd") == 0 &&
         symlink("/proc/self/fd/0", "/new/dev/stdin") == 0 &&
         symlink("/proc/self/fd/1", "/new/dev/stdout") == 0 &&
         symlink("/proc/self/fd/2", "/new/dev/stderr") == 0;
}

bool makeOwnFolders() {
  const bool isMade = mkdir("/new/tmp", 0777) == 0 && mkdir("/new/dev", 0755) == 0 &&
                      mkdir("/new/dev/shm", 0777) == 0 && mkdir("/new/proc", 0755) == 0;
  return isMade && chmod("/new/tmp", 01777) == 0 && chmod("/new/dev/shm", 01777) == 0 &&
         mount("proc", "/new/proc", "proc", kReadOnly | MS_NOEXEC, nullptr) == 0;
}

bool pivot(const char* root, const char* old) { return syscall(SYS_pivot_root, root, old) == 0; }

bool makeBase(const Options& options) {
  char settings[128];
  // Everything that is written outside of the folder counts: /tmp and /dev/shm.
  snprintf(settings, sizeof(settings), "mode=755,nr_inodes=20000,size=%llu",
           static_cast<unsigned long long>(options.diskBytes + (1 << 20)));
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", kBase, "tmpfs", MS_NOSUID | MS_NODEV, settings) == 0 && chdir(kBase) == 0 &&
         mkdir("old", 0755) == 0 && mkdir("new", 0755) == 0 && pivot(".", "old") && chdir("/") == 0;
}

bool leaveBase() {
  return mount(kNew, kNew, nullptr, MS_BIND | MS_REC, nullptr) == 0 && chdir(kNew) == 0 &&
         pivot(".", ".") && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

}  // namespace

const char* enterView(const Options& options) {
  umask(022);
  if (!makeBase(options)) return "a new root of the file system";
  if (!makeOwnFolders()) return "a /proc of its own";
  if (!makeDevices()) return "the devices";
  for (const char* path : kSystemFiles) {
    if (!showSystemFile(path)) return path;
  }
  // What cannot be shown is missing, whatever a command names. Targets first: where a name leads
  // over a link that is then in view, it needs no place of its own.
  for (int i = 0; i < options.readableCount; ++i) {
    show(options.readable[i].real, options.readable[i].real, kReadOnly);
  }
  for (int i = 0; i < options.readableCount; ++i) {
    show(options.readable[i].real, options.readable[i].name, kReadOnly);
  }
  const NamedPath& folder = options.folder;
  if (!show(folder.real, folder.real, MS_NOSUID | MS_NODEV)) return folder.real;
  show(folder.real, folder.name, MS_NOSUID | MS_NODEV);
  if (!leaveBase()) return "the new root of the file system";
  return chdir(folder.name) == 0 || chdir(folder.real) == 0 ? nullptr : folder.real;
}

}  // namespace compiler_gym::confine
