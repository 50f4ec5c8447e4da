#include "llvm_service/costs/BaselineFile.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/xxhash.h"

namespace compiler_gym::llvm_service {

namespace {

using util::FileDescriptor;

std::string describe(int errorNumber) { return std::generic_category().message(errorNumber); }

// Returns the reason not to trust a file or directory, or nothing.
std::string objectionTo(const FileDescriptor& file, mode_t type) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return describe(errno);
  if ((status.st_mode & S_IFMT) != type) {
    return type == S_IFDIR ? "it is not a directory" : "it is not a file";
  }
  if (status.st_uid != geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users can write to it";
  return "";
}

FileDescriptor openDirectory(const std::string& path, std::string& objection) {
  if (const std::error_code error = llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                                                      llvm::sys::fs::owner_all)) {
    objection = error.message();
    return FileDescriptor();
  }
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  objection = directory.isOpen() ? objectionTo(directory, S_IFDIR) : describe(errno);
  return directory;
}

FileDescriptor openFile(const FileDescriptor& directory, std::string& objection) {
  // O_NONBLOCK: a pipe of this name must not block the caller.
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  FileDescriptor file(
      openat(directory.get(), BaselineFile::kName, O_RDWR | O_CREAT | kFlags, S_IRUSR | S_IWUSR));
  if (!file.isOpen() && (errno == EACCES || errno == EROFS)) {
    file = FileDescriptor(openat(directory.get(), BaselineFile::kName, O_RDONLY | kFlags));
  }
  objection = file.isOpen() ? objectionTo(file, S_IFREG) : describe(errno);
  return file;
}

FileDescriptor openTrusted(const std::string& path) {
  std::string objection;
  const FileDescriptor directory = openDirectory(path, objection);
  if (!objection.empty()) {
    LOG(WARNING) << "Baseline costs are not kept in " << path << ": " << objection;
    return FileDescriptor();
  }
  FileDescriptor file = openFile(directory, objection);
  if (!objection.empty()) {
    LOG(WARNING) << "Baseline costs are not kept in " << path << "/" << BaselineFile::kName << ": "
                 << objection;
    return FileDescriptor();
  }
  return file;
}

// Checks the file size limit. Writing beyond it would end the process by a signal.
bool isWithinSizeLimit(uint64_t end) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && end <= limit.rlim_cur;
}

uint64_t nanosecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Shortens a file that another program has left longer than the maximum.
void shorten(const FileDescriptor& file, size_t maxBytes) {
  struct stat status = {};
  if (fstat(file.get(), &status) == 0 && static_cast<size_t>(status.st_size) > maxBytes &&
      ftruncate(file.get(), static_cast<off_t>(maxBytes)) != 0) {
    LOG(WARNING) << "The file of baseline costs is too long, and stays so: " << describe(errno);
  }
}

constexpr size_t kPageBytes = BaselineFile::kRecordsOfPage * BaselineFile::kRecordBytes;

}  // namespace

struct BaselineFile::Record {
  Hash key;
  int64_t value;
  uint64_t written;
  std::array<uint64_t, 2> checksum;

  std::array<uint64_t, 2> computeChecksum() const {
    const llvm::XXH128_hash_t sum = llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(
        reinterpret_cast<const uint8_t*>(this), offsetof(Record, checksum)));
    return {sum.low64, sum.high64};
  }
  bool isValid() const { return checksum == computeChecksum(); }
};

BaselineFile::BaselineFile(const std::string& directory, llvm::StringRef code, size_t pages)
    : code_(hashOf(code)), pages_(pages), file_(openTrusted(directory)) {
  static_assert(sizeof(Record) == kRecordBytes && sizeof(Page) == kPageBytes);
  if (file_.isOpen()) shorten(file_, pages_ * kPageBytes);
}

BaselineFile::Hash BaselineFile::hashOf(llvm::StringRef bytes) {
  return llvm::BLAKE3::hash<sizeof(Hash)>(llvm::arrayRefFromStringRef(bytes));
}

BaselineFile::Hash BaselineFile::keyOf(const Hash& program, llvm::StringRef name) const {
  llvm::BLAKE3 hasher;
  hasher.update(code_);
  hasher.update(program);
  hasher.update(name);
  return hasher.final<sizeof(Hash)>();
}

off_t BaselineFile::pageOffset(const Hash& key) const {
  uint64_t number = 0;  // As random as all bytes of a key.
  std::memcpy(&number, key.data(), sizeof(number));
  return static_cast<off_t>(number % pages_ * kPageBytes);
}

void BaselineFile::read(const Hash& key, Page& page) const {
  std::memset(page.data(), 0, kPageBytes);
  // Unreadable parts stay zeros, too.
  static_cast<void>(!pread(file_.get(), page.data(), kPageBytes, pageOffset(key)));
}

std::optional<int64_t> BaselineFile::find(const Hash& program, llvm::StringRef name) const {
  if (!file_.isOpen()) return std::nullopt;
  const Hash key = keyOf(program, name);
  Page page;
  read(key, page);
  for (const Record& record : page) {
    if (record.key == key && record.isValid()) return record.value;
  }
  return std::nullopt;
}

void BaselineFile::insert(const Hash& program, llvm::StringRef name, int64_t value) const {
  if (!file_.isOpen()) return;
  Record made = {keyOf(program, name), value, nanosecondsNow(), {}};
  made.checksum = made.computeChecksum();
  Page page;
  read(made.key, page);
  // Replaces the record of the same key, or else an invalid record, or else the oldest.
  const auto rank = [&made](const Record& record) -> uint64_t {
    if (record.key == made.key) return 0;
    return record.isValid() ? std::max<uint64_t>(record.written, 2) : 1;
  };
  const auto place =
      std::min_element(page.begin(), page.end(),
                       [&rank](const Record& a, const Record& b) { return rank(a) < rank(b); });
  const off_t offset =
      pageOffset(made.key) + (place - page.begin()) * static_cast<off_t>(kRecordBytes);
  if (isWithinSizeLimit(static_cast<uint64_t>(offset) + kRecordBytes)) {
    // A partly written record has a wrong checksum.
    static_cast<void>(!pwrite(file_.get(), &made, kRecordBytes, offset));
  }
}

}  // namespace compiler_gym::llvm_service
