#include "llvm_service/confine/Usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace compiler_gym::confine {

namespace {

constexpr int kMaxDepth = 200;
constexpr uint64_t kBytesOfName = 4096;
constexpr uint64_t kMostBytes = uint64_t{1} << 60;

// Calls a function with the name of each entry of a folder of /proc that is a number.
template <typename Function>
void forEachNumber(const char* folder, const Function& function) {
  DIR* entries = opendir(folder);
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    if (isdigit(static_cast<unsigned char>(entry->d_name[0]))) function(entry->d_name);
  }
  closedir(entries);
}

// Counts the threads of the process, too.
template <typename Function>
void forEachChild(const char* process, const Function& function, uint64_t* threads) {
  char tasks[64];
  snprintf(tasks, sizeof(tasks), "/proc/%.20s/task", process);
  forEachNumber(tasks, [&](const char* task) {
    ++*threads;
    char path[128];
    snprintf(path, sizeof(path), "%s/%.20s/children", tasks, task);
    FILE* file = fopen(path, "re");
    if (file == nullptr) return;
    char child[32];
    while (fscanf(file, "%31s", child) == 1) function(child);
    fclose(file);
  });
}

// Returns the number behind a word of a file of /proc, in bytes.
uint64_t readKilobytes(const char* process, const char* name, const char* const* words, int count) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%.20s/%s", process, name);
  FILE* file = fopen(path, "re");
  if (file == nullptr) return 0;
  uint64_t total = 0;
  char line[256];
  while (fgets(line, sizeof(line), file) != nullptr) {
    for (int i = 0; i < count; ++i) {
      const size_t size = strlen(words[i]);
      if (strncmp(line, words[i], size) == 0) total += strtoull(line + size, nullptr, 10) * 1024;
    }
  }
  fclose(file);
  return total;
}

// Files that count once, however many processes have them open.
class CountedFiles {
 public:
  explicit CountedFiles(bool isSameUser) : isSameUser_(isSameUser) {
    // The input of the program, which cannot grow.
    struct stat input{};
    const int seals = fcntl(STDIN_FILENO, F_GET_SEALS);
    if (seals > 0 && (seals & F_SEAL_GROW) && fstat(STDIN_FILENO, &input) == 0) isNew(input);
  }

  // Returns whether a process hides its open files. For other users, they may always be hidden.
  bool areHidden(const char* process, const char* folder) const {
    if (!isSameUser_) return false;
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) close(file);
    // Those of a process that has ended, and so has no memory, belong to root.
    static constexpr const char* kMemory[] = {"RssAnon:"};
    return file < 0 && errno == EACCES && readKilobytes(process, "status", kMemory, 1) > 0;
  }

  // Returns whether a file is to be counted. Those that do not fit count each time.
  bool isNew(const struct stat& file) {
    for (int i = 0; i < size_; ++i) {
      if (files_[i].number == file.st_ino && files_[i].device == file.st_dev) return false;
    }
    if (size_ < kMost) files_[size_++] = {file.st_dev, file.st_ino};
    return true;
  }

 private:
  static constexpr int kMost = 256;
  const bool isSameUser_;
  struct {
    dev_t device;
    ino_t number;
  } files_[kMost] = {};
  int size_ = 0;
};

uint64_t namelessBytesOf(const char* process, CountedFiles* counted) {
  char folder[64];
  snprintf(folder, sizeof(folder), "/proc/%.20s/fd", process);
  if (counted->areHidden(process, folder)) return kMostBytes;
  uint64_t total = 0;
  forEachNumber(folder, [&](const char* number) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%.20s", folder, number);
    struct stat status{};
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
        counted->isNew(status)) {
      total += static_cast<uint64_t>(status.st_blocks) * 512;
    }
  });
  return total;
}

// Pages that processes share count once for each process, or in shares if that takes longer to find
// out.
void addUsage(const char* process, bool inShares, int depth, CountedFiles* counted, Usage* usage) {
  static constexpr const char* kQuick[] = {"RssAnon:", "RssShmem:", "VmPTE:"};
  static constexpr const char* kShares[] = {"Pss_Anon:", "Pss_Shmem:"};
  usage->memoryBytes += inShares ? readKilobytes(process, "smaps_rollup", kShares, 2)
                                 : readKilobytes(process, "status", kQuick, 3);
  if (!inShares) usage->namelessBytes += namelessBytesOf(process, counted);
  if (depth == 0) return;
  forEachChild(
      process, [&](const char* child) { addUsage(child, inShares, depth - 1, counted, usage); },
      &usage->threads);
}

uint64_t folderBytes = 0;  // nftw() passes no context.
uint64_t folderLimit = 0;

int addEntry(const char*, const struct stat* status, int kind, FTW* place) {
  // The program may have taken away permissions, to hide files that it still writes to.
  const bool isHidden = kind == FTW_DNR || (kind == FTW_NS && errno == EACCES);
  if (kind != FTW_NS) {
    folderBytes += kBytesOfName + static_cast<uint64_t>(status->st_blocks) * 512;
  }
  return folderBytes > folderLimit || place->level > kMaxDepth || isHidden ? 1 : 0;
}

}  // namespace

Usage usageOfDescendants(uint64_t memoryLimit, bool isSameUser) {
  CountedFiles counted(isSameUser);
  const auto measure = [&counted](bool inShares) {
    Usage usage;
    uint64_t own = 0;
    forEachChild(
        "self", [&](const char* child) { addUsage(child, inShares, kMaxDepth, &counted, &usage); },
        &own);
    return usage;
  };
  Usage usage = measure(/*inShares=*/false);
  if (usage.memoryBytes <= memoryLimit) return usage;
  const Usage exact = measure(/*inShares=*/true);
  // Without a right to look closer, the estimate has to do.
  if (exact.memoryBytes > 0) usage.memoryBytes = exact.memoryBytes;
  return usage;
}

void killChildren() {
  uint64_t threads = 0;
  forEachChild("self", [](const char* child) { kill(atoi(child), SIGKILL); }, &threads);
}

uint64_t sizeOfFolder(const char* folder, uint64_t limit) {
  folderBytes = 0;
  folderLimit = limit;
  // The depth counts as well, because walking deep folders takes long.
  const int end = nftw(folder, addEntry, 16, FTW_PHYS | FTW_MOUNT);
  return end == 1 ? limit + 1 : folderBytes;
}

uint64_t threadsOfUser(unsigned user) {
  uint64_t count = 0;
  forEachNumber("/proc", [&](const char* process) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/task", process);
    struct stat status{};
    // The links of a folder are the folders in it, and two.
    if (stat(path, &status) == 0 && status.st_uid == user) count += status.st_nlink - 2;
  });
  return count;
}

}  // namespace compiler_gym::confine
