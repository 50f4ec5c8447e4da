#include "compiler_gym/util/FolderRemoval.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::util {

namespace {

constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Opens a folder, and gives this user all permissions for it.
FileDescriptor openFolder(int parent, const char* name) {
  struct stat status{};
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return FileDescriptor();
  const bool isClosed = S_ISDIR(status.st_mode) && (status.st_mode & S_IRWXU) != S_IRWXU;
  if (isClosed && fchmodat(parent, name, S_IRWXU, 0) != 0) return FileDescriptor();
  return FileDescriptor(openat(parent, name, kFlags));
}

struct Left {
  bool isError = false;
  // Closed if the folder is empty.
  FileDescriptor folder;
};

// Removes all entries of a folder up to one that is a folder with entries.
Left removeEntries(int folder) {
  // Has a position of its own.
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(openat(folder, ".", kFlags)),
                                                    closedir);
  if (!entries) return {true, FileDescriptor()};
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (unlinkat(folder, entry->d_name, 0) == 0) continue;
    if (unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0) continue;
    if (errno != ENOTEMPTY && errno != EEXIST) return {true, FileDescriptor()};
    FileDescriptor next = openFolder(folder, entry->d_name);
    return {!next.isOpen(), std::move(next)};
  }
  return {false, FileDescriptor()};
}

}  // namespace

bool removeFolder(const boost::filesystem::path& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  FileDescriptor folder = openFolder(AT_FDCWD, path.c_str());
  // Paths can be longer than the system accepts, and folders deeper than a stack.
  for (long depth = 0; folder.isOpen();) {
    Left left = removeEntries(folder.get());
    if (left.isError) return false;
    if (left.folder.isOpen()) {
      folder = std::move(left.folder);
      ++depth;
    } else if (depth-- > 0) {
      folder = FileDescriptor(openat(folder.get(), "..", kFlags));
    } else {
      folder.close();
    }
  }
  return rmdir(path.c_str()) == 0;
}

}  // namespace compiler_gym::util
