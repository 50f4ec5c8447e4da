#pragma once

#include <boost/filesystem.hpp>
#include <iterator>

namespace compiler_gym::llvm_service {

/// An empty directory, removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(boost::filesystem::temp_directory_path() /
              boost::filesystem::unique_path("llvm-service-test-%%%%%%%%")) {
    boost::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() {
    boost::system::error_code ignored;
    boost::filesystem::remove_all(path_, ignored);
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const boost::filesystem::path& path() const { return path_; }

  /// Number of files and directories directly inside.
  long entries() const {
    using boost::filesystem::directory_iterator;
    return std::distance(directory_iterator(path_), directory_iterator());
  }

 private:
  const boost::filesystem::path path_;
};

}  // namespace compiler_gym::llvm_service
