// Ownership of open files.
#pragma once

#include <unistd.h>

#include <utility>

namespace compiler_gym::util {

// Owns an open file and closes it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  // Returns a negative number if there is no file. poll() ignores such entries.
  int get() const { return number_; }
  bool isOpen() const { return number_ >= 0; }

  // Gives up the ownership.
  int release() { return std::exchange(number_, -1); }

  void close() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_;
};

}  // namespace compiler_gym::util
