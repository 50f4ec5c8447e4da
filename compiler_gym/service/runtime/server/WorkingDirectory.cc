#include "compiler_gym/service/runtime/server/WorkingDirectory.h"

#include <glog/logging.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace fs = boost::filesystem;

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

constexpr char kPortFile[] = "port.txt";
constexpr char kPidFile[] = "pid.txt";
constexpr char kSocketFile[] = "service.sock";

Status error(const std::string& what, const fs::path& path, int errorNumber) {
  return Status(StatusCode::INTERNAL,
                what + " " + path.string() + ": " + std::generic_category().message(errorNumber));
}

// Makes a directory for the owner only, and those above it. One that exists stays as it is.
Status makeDirectories(const fs::path& path) {
  boost::system::error_code ignored;
  if (fs::is_directory(path, ignored)) return Status::OK;
  if (path.has_parent_path()) RETURN_IF_ERROR(makeDirectories(path.parent_path()));
  if (mkdir(path.c_str(), S_IRWXU) == 0) return Status::OK;
  const int errorNumber = errno;
  // Somebody else may have made it meanwhile.
  if (errorNumber == EEXIST && fs::is_directory(path, ignored)) return Status::OK;
  return error("Cannot make the directory", path, errorNumber);
}

// Makes a directory that did not exist, so that nobody else can have put anything into it.
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

Status writeFile(const fs::path& path, const std::string& contents) {
  const fs::path temporary(path.string() + ".tmp");
  std::ofstream file(temporary.string(), std::ios::binary | std::ios::trunc);
  file << contents;
  file.close();
  if (!file) return error("Cannot write", temporary, errno);
  boost::system::error_code renaming;
  fs::rename(temporary, path, renaming);
  return renaming ? error("Cannot write", path, renaming.value()) : Status::OK;
}

// Whether a process runs. One that has ended exists until its parent takes notice of it.
bool isRunning(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  // The name of the program before the state may contain anything.
  const size_t state = stat.rfind(") ");
  return state != std::string::npos && stat[state + 2] != 'Z' && stat[state + 2] != 'X';
}

// Whether the directory was made for a process that has ended meanwhile.
bool isOrphaned() {
  const char* const owner = std::getenv("COMPILER_GYM_WORKING_DIR_OWNER");
  const int pid = owner ? std::atoi(owner) : 0;
  return pid > 0 && !isRunning(pid);
}

// Files that cannot be removed are found stale by the next service.
void remove(const fs::path& path, bool isTemporary) {
  boost::system::error_code problem;
  if (isTemporary || isOrphaned()) {
    fs::remove_all(path, problem);
    if (problem) LOG(ERROR) << "Cannot remove " << path << ": " << problem.message();
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
