#include "llvm_service/confine/Landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "llvm_service/confine/SystemFiles.h"

namespace compiler_gym::confine {

namespace {

// From <linux/landlock.h>, which is older on the systems that we build on.
struct RulesetAttributes {
  uint64_t handledFiles;
  uint64_t handledNetwork;
  uint64_t scoped;
};
struct [[gnu::packed]] PathAttributes {
  uint64_t allowed;
  int32_t parent;
};

constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kVersionFlag = 1;
constexpr unsigned kPathBeneath = 1;

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadDirectory = 1 << 3;
constexpr uint64_t kMakeDevices = (1 << 6) | (1 << 11);
constexpr uint64_t kTruncate = 1 << 14;
constexpr uint64_t kDeviceControl = 1 << 15;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr uint64_t kRead = kExecute | kReadFile | kReadDirectory;

constexpr uint64_t kConnectTcp = 1 << 1;
constexpr uint64_t kBindTcp = 1 << 0;
constexpr uint64_t kScopes = (1 << 0) | (1 << 1);  // Abstract sockets, signals.

// Returns the kinds of access to files that a version knows.
uint64_t handledFiles(int version) {
  constexpr uint64_t kFirst = (1 << 13) - 1;
  return kFirst | (version >= 2 ? 1 << 13 : 0) | (version >= 3 ? kTruncate : 0) |
         (version >= 5 ? kDeviceControl : 0);
}

size_t sizeOfAttributes(int version) {
  return version >= 6 ? sizeof(RulesetAttributes) : version >= 4 ? 16 : 8;
}

// Missing files need no rule.
bool allow(int ruleset, const char* path, uint64_t access) {
  const int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return true;
  struct stat status{};
  const bool isFolder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  const PathAttributes rule = {isFolder ? access : access & kOfFiles, file};
  const bool isAdded = syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
  close(file);
  return isAdded;
}

bool allowAll(int ruleset, const Options& options, int version) {
  const uint64_t everything = handledFiles(version) & ~kMakeDevices & ~kDeviceControl;
  bool isAdded =
      allow(ruleset, options.folder.real, everything) && allow(ruleset, "/proc/self", kRead);
  for (const char* path : kSystemFiles) isAdded = isAdded && allow(ruleset, path, kRead);
  for (const char* path : kDevices) {
    isAdded = isAdded && allow(ruleset, path, kReadFile | kWriteFile);
  }
  for (int i = 0; i < options.readableCount; ++i) {
    isAdded = isAdded && allow(ruleset, options.readable[i].real, kRead);
  }
  return isAdded;
}

}  // namespace

int landlockVersion() {
  const long version = syscall(kCreateRuleset, nullptr, 0, kVersionFlag);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool installLandlock(const Options& options, int version) {
  const RulesetAttributes attributes = {
      handledFiles(version), version >= 4 && !options.network ? kBindTcp | kConnectTcp : 0,
      version >= kScopedLandlock ? kScopes : 0};
  const long made = syscall(kCreateRuleset, &attributes, sizeOfAttributes(version), 0);
  if (made < 0) return false;
  const int ruleset = static_cast<int>(made);
  const bool isDone =
      allowAll(ruleset, options, version) && syscall(kRestrictSelf, ruleset, 0) == 0;
  const int reason = errno;
  close(ruleset);
  errno = reason;
  return isDone;
}

}  // namespace compiler_gym::confine
