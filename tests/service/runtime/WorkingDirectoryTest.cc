#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "compiler_gym/service/runtime/server/WorkingDirectory.h"
#include "tests/Statuses.h"
#include "tests/service/runtime/Processes.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using ::testing::HasSubstr;

int modeOf(const fs::path& path) {
  struct stat information = {};
  EXPECT_EQ(stat(path.c_str(), &information), 0) << path;
  return information.st_mode & 0777;
}

class WorkingDirectoryTest : public ::testing::Test {
 protected:
  WorkingDirectoryTest() : base_(fs::temp_directory_path() / fs::unique_path()) {
    fs::create_directory(base_);
  }
  ~WorkingDirectoryTest() override { fs::remove_all(base_); }

  static std::unique_ptr<WorkingDirectory> open(const fs::path& path) {
    std::unique_ptr<WorkingDirectory> directory;
    EXPECT_THAT(WorkingDirectory::open(path.string(), &directory), IsOk());
    return directory;
  }

  const fs::path base_;
};

TEST_F(WorkingDirectoryTest, DirectoryThatOthersCanWriteToIsRefusedAndStays) {
  for (const mode_t mode : {01777, 0770}) {
    ASSERT_EQ(chmod(base_.c_str(), mode), 0);
    std::ofstream((base_ / "owner.lock").string()) << "";
    std::unique_ptr<WorkingDirectory> directory;
    EXPECT_THAT(WorkingDirectory::open(base_.string(), &directory),
                IsError(grpc::StatusCode::FAILED_PRECONDITION, "to which nobody else can write"));
    EXPECT_EQ(directory, nullptr);
    EXPECT_TRUE(fs::exists(base_ / "owner.lock"));
  }
}

TEST_F(WorkingDirectoryTest, DirectoryOfAnotherUserIsRefused) {
  // Not every sandbox lets root do so, either.
  if (chown(base_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "A directory cannot be given away";
  std::unique_ptr<WorkingDirectory> directory;
  const Status status = WorkingDirectory::open(base_.string(), &directory);
  EXPECT_THAT(status.error_message(), HasSubstr("got owner 65534 and mode "));
}

TEST_F(WorkingDirectoryTest, LinksAreNotFollowed) {
  const fs::path victim = base_ / "victim";
  std::ofstream(victim.string()) << "precious";
  fs::create_directory(base_ / "a");
  for (const char* name : {"port.txt", "port.txt.tmp", "pid.txt", "pid.txt.tmp", "owner.lock"}) {
    fs::create_symlink(victim, base_ / "a" / name);
  }
  {
    const auto directory = open(base_ / "a");
    ASSERT_TRUE(directory->writeAddress(123, 45).ok());
    EXPECT_EQ(contentsOf(base_ / "a" / "port.txt"), "123");
    EXPECT_EQ(contentsOf(base_ / "a" / "pid.txt"), "45");
  }
  EXPECT_EQ(contentsOf(victim), "precious");
  EXPECT_TRUE(fs::exists(base_ / "a" / "logs"));
}

TEST_F(WorkingDirectoryTest, TrailingSlashAndRelativePaths) {
  EXPECT_EQ(open(base_ / "a" / "")->path().lexically_normal(),
            (base_ / "a" / "").lexically_normal());
  EXPECT_EQ(modeOf(base_ / "a"), 0700);
  const fs::path relative = fs::unique_path("relative-%%%%");
  const auto directory = open(relative / "." / "b");
  EXPECT_EQ(directory->path(), fs::current_path() / relative / "b");
  EXPECT_EQ(modeOf(fs::current_path() / relative), 0700);
  fs::remove_all(relative);
}

TEST_F(WorkingDirectoryTest, PathThatIsAFile) {
  std::ofstream((base_ / "file").string()) << "x";
  std::unique_ptr<WorkingDirectory> directory;
  for (const fs::path& path : {base_ / "file", base_ / "file" / "below"}) {
    const Status status = WorkingDirectory::open(path.string(), &directory);
    EXPECT_THAT(status, IsError(grpc::StatusCode::INTERNAL, "Cannot make the directory"));
    EXPECT_THAT(status.error_message(), HasSubstr((base_ / "file").string()));
  }
}

TEST_F(WorkingDirectoryTest, AddressCannotBeWritten) {
  const auto directory = open(base_ / "a");
  fs::remove_all(base_ / "a");
  EXPECT_THAT(directory->writeAddress(1, 2), IsError(grpc::StatusCode::INTERNAL, "port.txt"));
}

}  // namespace
}  // namespace compiler_gym::runtime
