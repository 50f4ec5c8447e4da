#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "compiler_gym/service/runtime/server/WorkingDirectory.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string contentsOf(const fs::path& path) {
  std::ifstream file(path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

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
    const Status status = WorkingDirectory::open(path.string(), &directory);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return directory;
  }

  const fs::path base_;
};

TEST_F(WorkingDirectoryTest, DirectoriesAreMadeForTheOwnerOnly) {
  const auto directory = open(base_ / "a" / "b");
  EXPECT_EQ(directory->path(), base_ / "a" / "b");
  EXPECT_EQ(modeOf(base_ / "a"), 0700);
  EXPECT_EQ(modeOf(base_ / "a" / "b"), 0700);
  EXPECT_EQ(modeOf(directory->logs()), 0700);
}

TEST_F(WorkingDirectoryTest, GivenDirectoryStays) {
  {
    const auto directory = open(base_ / "a");
  }
  EXPECT_TRUE(fs::is_directory(base_ / "a" / "logs"));
}

TEST_F(WorkingDirectoryTest, ExistingDirectoryKeepsItsModeAndFiles) {
  ASSERT_EQ(chmod(base_.c_str(), 0750), 0);
  std::ofstream((base_ / "file").string()) << "x";
  const auto directory = open(base_);
  EXPECT_EQ(modeOf(base_), 0750);
  EXPECT_EQ(contentsOf(base_ / "file"), "x");
}

TEST_F(WorkingDirectoryTest, DirectoryThatOthersCanWriteToIsRefusedAndStays) {
  for (const mode_t mode : {01777, 0770}) {
    ASSERT_EQ(chmod(base_.c_str(), mode), 0);
    std::ofstream((base_ / "owner.lock").string()) << "";
    std::unique_ptr<WorkingDirectory> directory;
    const Status status = WorkingDirectory::open(base_.string(), &directory);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("to which nobody else can write"));
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
  fs::remove_all(relative);
}

TEST_F(WorkingDirectoryTest, AddressIsWrittenAndRemovedAtTheEnd) {
  {
    const auto directory = open(base_);
    ASSERT_TRUE(directory->writeAddress(1234, 5678).ok());
    EXPECT_EQ(contentsOf(base_ / "port.txt"), "1234");
    EXPECT_EQ(contentsOf(base_ / "pid.txt"), "5678");
    EXPECT_EQ(directory->socket(), base_ / "service.sock");
    std::ofstream(directory->socket().string()) << "";
  }
  EXPECT_FALSE(fs::exists(base_ / "port.txt"));
  EXPECT_FALSE(fs::exists(base_ / "pid.txt"));
  EXPECT_FALSE(fs::exists(base_ / "service.sock"));
}

TEST_F(WorkingDirectoryTest, AddressOfAServiceThatWasKilledIsRemoved) {
  std::ofstream((base_ / "port.txt").string()) << "1234";
  std::ofstream((base_ / "pid.txt").string()) << "5678";
  std::ofstream((base_ / "service.sock").string()) << "";
  const auto directory = open(base_);
  EXPECT_FALSE(fs::exists(base_ / "port.txt"));
  EXPECT_FALSE(fs::exists(base_ / "pid.txt"));
  EXPECT_FALSE(fs::exists(base_ / "service.sock"));
}

TEST_F(WorkingDirectoryTest, AddressLeavesNoTemporaryFiles) {
  const auto directory = open(base_);
  ASSERT_TRUE(directory->writeAddress(1, 2).ok());
  ASSERT_TRUE(directory->writeAddress(3, 4).ok());
  EXPECT_EQ(contentsOf(base_ / "port.txt"), "3");
  // port.txt, pid.txt, logs
  EXPECT_EQ(std::distance(fs::directory_iterator(base_), fs::directory_iterator()), 3);
}

TEST_F(WorkingDirectoryTest, PathThatIsAFile) {
  std::ofstream((base_ / "file").string()) << "x";
  std::unique_ptr<WorkingDirectory> directory;
  for (const fs::path& path : {base_ / "file", base_ / "file" / "below"}) {
    const Status status = WorkingDirectory::open(path.string(), &directory);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
    EXPECT_THAT(status.error_message(), HasSubstr("Cannot make the directory"));
    EXPECT_THAT(status.error_message(), HasSubstr((base_ / "file").string()));
  }
}

TEST_F(WorkingDirectoryTest, AddressCannotBeWritten) {
  const auto directory = open(base_ / "a");
  fs::remove_all(base_ / "a");
  const Status status = directory->writeAddress(1, 2);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("port.txt"));
}

}  // namespace
}  // namespace compiler_gym::runtime
