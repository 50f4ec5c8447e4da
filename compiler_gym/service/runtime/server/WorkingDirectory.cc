#include "compiler_gym/service/runtime/server/WorkingDirectory.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/FolderRemoval.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace fs = boost::filesystem;

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

constexpr char kPortFile[] = "port.txt";
constexpr char kPidFile[] = "pid.txt";
constexpr char kOwnerFile[] = "owner.lock";
constexpr char kDiskLink[] = "disk";
constexpr char kSocketFile[] = "service.sock";

Status error(const std::string& what, const fs::path& path, int errorNumber) {
  return Status(StatusCode::INTERNAL,
                what + " " + path.string() + ": " + std::generic_category().message(errorNumber));
}

// Creates a directory for the owner only, with its parents. An existing directory does not change.
Status makeDirectories(const fs::path& path) {
  boost::system::error_code ignored;
  if (fs::is_directory(path, ignored)) return Status::OK;
  if (path.has_parent_path()) RETURN_IF_ERROR(makeDirectories(path.parent_path()));
  if (mkdir(path.c_str(), S_IRWXU) == 0) return Status::OK;
  const int errorNumber = errno;
  // Another process may have created it meanwhile.
  if (errorNumber == EEXIST && fs::is_directory(path, ignored)) return Status::OK;
  return error("Cannot make the directory", path, errorNumber);
}

// Creates a new directory. It fails if the directory exists, because others may have put files into
// it.
Status makeUniqueDirectory(fs::path* path) {
  boost::system::error_code noTemporary;
  const fs::path parent = fs::temp_directory_path(noTemporary);
  if (noTemporary) {
    return Status(StatusCode::INTERNAL,
                  "There is no directory for temporary files: set TMPDIR, or use --working_dir");
  }
  while (true) {
    *path = parent / fs::unique_path("compiler_gym-service-%%%%-%%%%");
    if (mkdir(path->c_str(), S_IRWXU) == 0) return Status::OK;
    if (errno != EEXIST) return error("Cannot make the directory", *path, errno);
  }
}

// True if only this user and root can change a directory's contents or replace its files.
bool isPrivate(const struct stat& information) {
  const bool isOurs = information.st_uid == geteuid() || information.st_uid == 0;
  return isOurs && (information.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Checks that no other user can write to the directory. They could replace the service's files, or
// make it remove files of this user.
Status checkPrivate(const fs::path& path) {
  struct stat information = {};
  if (stat(path.c_str(), &information) != 0) return error("Cannot look at", path, errno);
  if (isPrivate(information)) return Status::OK;
  std::ostringstream found;
  found << "owner " << information.st_uid << " and mode " << std::oct
        << (information.st_mode & ALLPERMS);
  return Status(StatusCode::FAILED_PRECONDITION,
                "Expected --working_dir=" + path.string() +
                    " to be a directory of this user to which nobody else can write, got " +
                    found.str() + "; try another one, or chmod go-w");
}

Status writeFile(const fs::path& path, const std::string& contents) {
  const fs::path temporary(path.string() + ".tmp");
  unlink(temporary.c_str());
  // Does not follow links.
  const util::FileDescriptor file(open(temporary.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH));
  const auto size = static_cast<ssize_t>(contents.size());
  if (!file.isOpen() || write(file.get(), contents.data(), contents.size()) != size) {
    return error("Cannot write", temporary, errno);
  }
  boost::system::error_code renaming;
  fs::rename(temporary, path, renaming);
  return renaming ? error("Cannot write", path, renaming.value()) : Status::OK;
}

// True if the parent process is about to end. Its threads end one by one, and the system tells this
// process when the one that started it does, while others may still hold locks.
bool isParentEnding() {
  constexpr unsigned long kPfExiting = 0x4;  // NOLINT: the type of the kernel's flags.
  const std::string folder = "/proc/" + std::to_string(getppid());
  std::ifstream stat(folder + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  // After the name, which may have parentheses: state, parent, group, session, terminal, its group.
  char state = 0;
  unsigned long flags = 0;  // NOLINT
  text.erase(0, text.rfind(')') + 1);
  if (std::sscanf(text.c_str(), " %c %*d %*d %*d %*d %*d %lu", &state, &flags) != 2) return false;
  if (state == 'Z' || (flags & kPfExiting) != 0) return true;
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigPnd:", 0) == 0) {
      return (std::stoull(line.substr(line.find('\t')), nullptr, 16) >> (SIGKILL - 1) & 1) != 0;
    }
  }
  return false;
}

// Locks a file, unless another process holds the lock and keeps it.
bool lockUnlessKept(int file) {
  constexpr auto kMost = std::chrono::seconds(10);
  constexpr auto kInterval = std::chrono::milliseconds(2);
  const auto end = std::chrono::steady_clock::now() + kMost;
  while (true) {
    const bool mayEnd = isParentEnding();
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (!mayEnd || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kInterval);
  }
}

// True if the client that created the directory has ended. The client holds a lock on a file in it,
// and the system releases the lock at its end. No other user can create that file.
bool isAbandoned(const fs::path& path) {
  struct stat folder = {};
  struct stat owner = {};
  const util::FileDescriptor lock(
      open((path / kOwnerFile).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock.isOpen() && stat(path.c_str(), &folder) == 0 && isPrivate(folder) &&
         fstat(lock.get(), &owner) == 0 && S_ISREG(owner.st_mode) && owner.st_uid == geteuid() &&
         lockUnlessKept(lock.get());
}

// Removes the directory on disk that an abandoned directory in memory links to.
void removeDisk(const fs::path& path) {
  boost::system::error_code problem;
  const fs::path target = fs::read_symlink(path / kDiskLink, problem);
  if (!problem && isAbandoned(target)) util::removeFolder(target);
}

// The next service removes files that cannot be removed now.
void remove(const fs::path& path, bool isTemporary) {
  boost::system::error_code problem;
  const bool isLeft = isAbandoned(path);
  if (isTemporary || isLeft) {
    if (isLeft) removeDisk(path);
    if (!util::removeFolder(path))
      LOG(ERROR) << error("Cannot remove", path, errno).error_message();
  } else {
    fs::remove(path / kPidFile, problem);
    fs::remove(path / kPortFile, problem);
    fs::remove(path / kSocketFile, problem);
  }
}

}  // namespace

Status WorkingDirectory::open(const std::string& path,
                              std::unique_ptr<WorkingDirectory>* directory) {
  return util::callWithoutExceptions("opening the working directory", [&]() -> Status {
    const bool isTemporary = path.empty();
    fs::path opened;
    if (isTemporary) {
      RETURN_IF_ERROR(makeUniqueDirectory(&opened));
    } else {
      opened = fs::absolute(path).lexically_normal();
      RETURN_IF_ERROR(makeDirectories(opened));
      RETURN_IF_ERROR(checkPrivate(opened));
    }
    directory->reset(new WorkingDirectory(opened, isTemporary));
    RETURN_IF_ERROR(makeDirectories((*directory)->logs()));
    fs::remove(opened / kPortFile);
    fs::remove(opened / kPidFile);
    fs::remove(opened / kSocketFile);
    return Status::OK;
  });
}

WorkingDirectory::WorkingDirectory(fs::path path, bool isTemporary)
    : path_(std::move(path)), isTemporary_(isTemporary) {}

WorkingDirectory::~WorkingDirectory() { remove(path_, isTemporary_); }

fs::path WorkingDirectory::socket() const { return path_ / kSocketFile; }

std::function<void()> WorkingDirectory::removal() const {
  return [path = path_, isTemporary = isTemporary_] { remove(path, isTemporary); };
}

Status WorkingDirectory::writeAddress(int port, int pid) const {
  RETURN_IF_ERROR(writeFile(path_ / kPortFile, std::to_string(port)));
  return writeFile(path_ / kPidFile, std::to_string(pid));
}

}  // namespace compiler_gym::runtime
