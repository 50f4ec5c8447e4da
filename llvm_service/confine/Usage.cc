#include "llvm_service/confine/Usage.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace compiler_gym::confine {

namespace {

constexpr int kMaxDepth = 200;
constexpr uint64_t kBytesOfName = 4096;

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

uint64_t namelessBytesOf(const char* process) {
  char folder[64];
  snprintf(folder, sizeof(folder), "/proc/%.20s/fd", process);
  uint64_t total = 0;
  forEachNumber(folder, [&](const char* number) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%.20s", folder, number);
    struct stat status{};
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0) {
      total += static_cast<uint64_t>(status.st_blocks) * 512;
    }
  });
  return total;
}

// Pages that processes share count once for each process, or in shares if that takes longer to find
// out.
void addUsage(const char* process, bool inShares, int depth, Usage* usage) {
  static constexpr const char* kQuick[] = {"RssAnon:", "RssShmem:", "VmPTE:"};
  static constexpr const char* kShares[] = {"Pss_Anon:", "Pss_Shmem:"};
  usage->memoryBytes += inShares ? readKilobytes(process, "smaps_rollup", kShares, 2)
                                 : readKilobytes(process, "status", kQuick, 3);
  if (!inShares) usage->namelessBytes += namelessBytesOf(process);
  if (depth == 0) return;
  forEachChild(
      process, [&](const char* child) { addUsage(child, inShares, depth - 1, usage); },
      &usage->threads);
}

uint64_t folderBytes = 0;  // nftw() passes no context.
uint64_t folderLimit = 0;

int addEntry(const char*, const struct stat* status, int, FTW* place) {
  folderBytes += kBytesOfName + static_cast<uint64_t>(status->st_blocks) * 512;
  return folderBytes > folderLimit || place->level > kMaxDepth ? 1 : 0;
}

}  // namespace

Usage usageOfDescendants(uint64_t memoryLimit) {
  Usage usage;
  uint64_t own = 0;
  forEachChild("self", [&](const char* child) { addUsage(child, false, kMaxDepth, &usage); }, &own);
  if (usage.memoryBytes <= memoryLimit) return usage;
  Usage exact;
  forEachChild("self", [&](const char* child) { addUsage(child, true, kMaxDepth, &exact); }, &own);
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
