#include "llvm_service/benchmark/Files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/filesystem.hpp>
#include <cerrno>
#include <cstring>

#include "compiler_gym/util/FileDescriptor.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace compiler_gym::llvm_service {

namespace {

// Opens the folder of a file below another folder. Follows no link.
util::FileDescriptor openParent(const boost::filesystem::path& folder,
                                const boost::filesystem::path& name) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  util::FileDescriptor parent(open(folder.c_str(), kFlags));
  for (const boost::filesystem::path& part : name.relative_path().parent_path()) {
    if (part == "..") {
      errno = EXDEV;
      return util::FileDescriptor();
    }
    parent = util::FileDescriptor(openat(parent.get(), part.c_str(), kFlags | O_NOFOLLOW));
    if (!parent.isOpen()) break;
  }
  return parent;
}

// Opens a file below a folder. Follows no link, and does not wait for the writer of a pipe.
util::FileDescriptor openLeft(const boost::filesystem::path& folder,
                              const boost::filesystem::path& name, struct stat& status) {
  const util::FileDescriptor parent = openParent(folder, name);
  if (!parent.isOpen()) return util::FileDescriptor();
  util::FileDescriptor file(openat(parent.get(), name.filename().c_str(),
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.isOpen() || fstat(file.get(), &status) != 0) return util::FileDescriptor();
  return file;
}

}  // namespace

boost::filesystem::path uniquePath(const boost::filesystem::path& directory,
                                   const std::string& pattern) {
  return directory / boost::filesystem::unique_path(pattern);
}

grpc::Status writeFile(const boost::filesystem::path& path, const std::string& contents) {
  llvm::Error error = llvm::writeToOutput(path.string(), [&](llvm::raw_ostream& stream) {
    stream << contents;
    return llvm::Error::success();
  });
  if (error) {
    return {grpc::StatusCode::INTERNAL,
            "Cannot write " + path.string() + ": " + llvm::toString(std::move(error))};
  }
  return grpc::Status::OK;
}

grpc::Status readFile(const std::string& path, uint64_t maxBytes, uint64_t& size,
                      std::string& contents) {
  const auto failure = [&path](grpc::StatusCode code, const std::string& reason) {
    return grpc::Status(code, "Cannot read the file \"" + path + "\": " + reason);
  };
  // Checks the type first, since opening a device may have effects. The file may be replaced before
  // it is opened, and opening a pipe would wait for a writer, so the open does not block.
  struct stat status{};
  bool exists = stat(path.c_str(), &status) == 0;
  util::FileDescriptor file;
  if (exists && S_ISREG(status.st_mode)) {
    file = util::FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    exists = file.isOpen() && fstat(file.get(), &status) == 0;
  }
  if (!exists) {
    return failure(grpc::StatusCode::NOT_FOUND, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return failure(grpc::StatusCode::INVALID_ARGUMENT, "it is not an ordinary file");
  }
  size = static_cast<uint64_t>(status.st_size);
  if (size > maxBytes) {
    return grpc::Status::OK;
  }
  const auto buffer = llvm::MemoryBuffer::getOpenFile(
      file.get(), path, size, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!buffer) {
    return failure(grpc::StatusCode::NOT_FOUND, buffer.getError().message());
  }
  contents = (*buffer)->getBuffer().str();
  return grpc::Status::OK;
}

grpc::Status openLeftFile(const boost::filesystem::path& folder,
                          const boost::filesystem::path& name,
                          std::unique_ptr<llvm::MemoryBuffer>& contents) {
  struct stat status{};
  const util::FileDescriptor file = openLeft(folder, name, status);
  if (!file.isOpen()) return {grpc::StatusCode::NOT_FOUND, std::strerror(errno)};
  if (!S_ISREG(status.st_mode)) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "it is not an ordinary file"};
  }
  auto buffer = llvm::MemoryBuffer::getOpenFile(file.get(), name.string(),
                                                static_cast<uint64_t>(status.st_size),
                                                /*RequiresNullTerminator=*/false);
  if (!buffer) return {grpc::StatusCode::NOT_FOUND, buffer.getError().message()};
  contents = std::move(*buffer);
  return grpc::Status::OK;
}

void makeLeftFileExecutable(const boost::filesystem::path& folder,
                            const boost::filesystem::path& name) {
  struct stat status{};
  const util::FileDescriptor file = openLeft(folder, name, status);
  if (!file.isOpen() || !S_ISREG(status.st_mode)) return;
  // Where the permissions do not suffice, the run says so.
  (void)!fchmod(file.get(), (status.st_mode & 0777) | S_IXUSR);
}

void removeLeftFile(const boost::filesystem::path& folder, const boost::filesystem::path& name) {
  const util::FileDescriptor parent = openParent(folder, name);
  if (parent.isOpen()) unlinkat(parent.get(), name.filename().c_str(), 0);
}

}  // namespace compiler_gym::llvm_service
