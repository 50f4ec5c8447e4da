#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/filesystem.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "llvm/IR/Verifier.h"
#include "llvm_service/costs/BaselineFile.h"
#include "llvm_service/costs/LoadedCode.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

namespace fs = boost::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;
constexpr char kName[] = "IrInstructionCount Oz";

BaselineFile::Hash program(int64_t number) { return BaselineFile::hashOf(std::to_string(number)); }

bool give(const fs::path& path, uid_t user) { return chown(path.c_str(), user, user) == 0; }

// Runs work in a child process, and returns its result.
bool isTrueInChild(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}

class BaselineFileTest : public ::testing::Test {
 protected:
  // With few pages, so that it is soon full and soon read.
  static constexpr int64_t kFewPages = 4;
  static constexpr int64_t kCapacity = kFewPages * BaselineFile::kRecordsOfPage;
  static constexpr size_t kMaxBytes = kCapacity * BaselineFile::kRecordBytes;

  BaselineFile open(const std::string& code = "this code") const {
    return BaselineFile(folder_.string(), code, kFewPages);
  }
  std::optional<int64_t> findAgain(int64_t number) const {
    return open().find(program(number), kName);
  }
  bool keepsAnything() const {
    open().insert(program(1), kName, 10);
    return findAgain(1) == 10;
  }
  void write(const std::string& contents) const {
    fs::create_directories(folder_);
    std::ofstream(file_.string(), std::ios::binary) << contents;
  }
  std::string contents() const {
    std::ifstream stream(file_.string(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  // The record of the only cost in the file.
  size_t onlyRecord() const {
    return contents().find_first_not_of('\0') / BaselineFile::kRecordBytes *
           BaselineFile::kRecordBytes;
  }
  const TemporaryDirectory temporary_;
  const fs::path folder_ = temporary_.path() / "caches" / "baselines";
  const fs::path file_ = folder_ / BaselineFile::kName;
};

TEST_F(BaselineFileTest, InsertingAgainReplaces) {
  open().insert(program(1), kName, 10);
  const uintmax_t size = fs::file_size(file_);
  for (int i = 0; i < 1000; ++i) open().insert(program(1), kName, i);
  EXPECT_EQ(findAgain(1), 999);
  EXPECT_EQ(fs::file_size(file_), size);
}

TEST_F(BaselineFileTest, AnyWrongBitIsAMiss) {
  open().insert(program(1), kName, 10);
  const std::string good = contents();
  const size_t begin = onlyRecord();
  for (size_t i = begin; i < begin + BaselineFile::kRecordBytes; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      write(bad);
      ASSERT_EQ(findAgain(1), std::nullopt) << "byte " << i - begin << ", bit " << bit;
    }
  }
  open().insert(program(1), kName, 11);
  EXPECT_EQ(findAgain(1), 11);
}

TEST_F(BaselineFileTest, AShortFileIsAMissAndIsCompleted) {
  open().insert(program(1), kName, 10);
  const std::string good = contents();
  for (const size_t left : {good.size() - 1, onlyRecord() + 8, onlyRecord(), size_t{0}}) {
    write(good.substr(0, left));
    EXPECT_EQ(findAgain(1), std::nullopt) << left;
    open().insert(program(1), kName, 11);
    EXPECT_EQ(findAgain(1), 11) << left;
  }
}

TEST_F(BaselineFileTest, AFileOfAnotherKindIsReplaced) {
  write(std::string(2 * kMaxBytes, 'x'));
  EXPECT_EQ(findAgain(1), std::nullopt);
  EXPECT_EQ(fs::file_size(file_), kMaxBytes);
  open().insert(program(1), kName, 10);
  EXPECT_EQ(findAgain(1), 10);
}

TEST_F(BaselineFileTest, AFileThatIsEmptiedWhileInUseIsFilledAgain) {
  const BaselineFile file = open();
  file.insert(program(1), kName, 10);
  fs::resize_file(file_, 0);
  EXPECT_EQ(file.find(program(1), kName), std::nullopt);
  file.insert(program(1), kName, 11);
  EXPECT_EQ(file.find(program(1), kName), 11);
}

TEST_F(BaselineFileTest, ForgetsTheOldestAndStaysSmall) {
  constexpr int64_t kCount = 20 * kCapacity;
  const BaselineFile file = open();
  for (int64_t i = 0; i < kCount; ++i) {
    file.insert(program(i), kName, i);
    ASSERT_EQ(file.find(program(i), kName), i);
  }
  EXPECT_EQ(fs::file_size(file_), kMaxBytes);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  int64_t found = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const auto cost = file.find(program(i), kName);
    EXPECT_EQ(cost.value_or(i), i);
    found += cost.has_value();
    // Pages are not chosen in turn, so some have older records than others.
    if (i < kCount - 2 * kCapacity) {
      EXPECT_FALSE(cost) << i;
    }
    if (i >= kCount - kCapacity / 2) {
      EXPECT_TRUE(cost) << i;
    }
  }
  EXPECT_EQ(found, kCapacity);
}

TEST_F(BaselineFileTest, ManyProcessesWriteAtOnce) {
  constexpr int kWriters = 4;
  constexpr int64_t kEach = 2000;
  const auto open = [this] { return BaselineFile(folder_.string(), "this code"); };
  const BaselineFile inherited = open();
  std::array<pid_t, kWriters> writers = {};
  for (int writer = 0; writer < kWriters; ++writer) {
    writers[writer] = fork();
    if (writers[writer] != 0) continue;
    // Half of them share the file that was open, the others open it by themselves.
    const BaselineFile own = open();
    const BaselineFile& file = writer % 2 == 0 ? inherited : own;
    bool isRight = true;
    for (int64_t i = 0; i < kEach; ++i) {
      // All write these, and so into the same places.
      file.insert(program(i), kName, i);
      const auto cost = file.find(program(i / 2), kName);
      isRight &= !cost || *cost == i / 2;
    }
    _exit(isRight ? 0 : 1);
  }
  for (const pid_t writer : writers) {
    int status = -1;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  int64_t found = 0;
  for (int64_t i = 0; i < kEach; ++i) {
    const auto cost = inherited.find(program(i), kName);
    EXPECT_EQ(cost.value_or(i), i);
    found += cost.has_value();
  }
  // Two that take the same place at once lose one of the costs.
  EXPECT_GE(found, kEach * 9 / 10);
}

TEST_F(BaselineFileTest, AFileThatOthersCanWriteToIsRefused) {
  ASSERT_TRUE(keepsAnything());
  fs::permissions(file_, fs::perms(0620));
  EXPECT_FALSE(keepsAnything());
  fs::permissions(file_, fs::perms(0600));
  ASSERT_TRUE(keepsAnything());
  fs::permissions(folder_, fs::perms(0722));
  EXPECT_FALSE(keepsAnything());
  fs::permissions(folder_, fs::perms(0755));
  EXPECT_TRUE(keepsAnything());
}

TEST_F(BaselineFileTest, RefusesPipesAndDirectories) {
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms(0700));
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(keepsAnything());
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_FALSE(keepsAnything());
  fs::remove(file_);
  fs::create_symlink(temporary_.path() / "elsewhere", file_);
  EXPECT_FALSE(keepsAnything());
  EXPECT_FALSE(fs::exists(temporary_.path() / "elsewhere"));
  fs::remove(file_);
  EXPECT_TRUE(keepsAnything());
}

TEST_F(BaselineFileTest, AnotherUsersFileIsRefused) {
  ASSERT_TRUE(keepsAnything());
  if (!give(file_, kNobody)) GTEST_SKIP() << "Only root can give files away";
  EXPECT_EQ(findAgain(1), std::nullopt);
  ASSERT_TRUE(give(file_, geteuid()));
  ASSERT_TRUE(give(folder_, kNobody));
  EXPECT_EQ(findAgain(1), std::nullopt);
  ASSERT_TRUE(give(folder_, geteuid()));
  EXPECT_EQ(findAgain(1), 10);
}

TEST_F(BaselineFileTest, AReadOnlyFileIsRead) {
  ASSERT_TRUE(keepsAnything());
  fs::permissions(file_, fs::perms(0400));
  fs::permissions(folder_, fs::perms(0500));
  const bool isRoot = geteuid() == 0;  // To whom everything is writable.
  if (isRoot) {
    for (const fs::path& path : {temporary_.path(), folder_.parent_path(), folder_, file_}) {
      if (!give(path, kNobody)) GTEST_SKIP() << "This root cannot be another user";
    }
  }
  const std::string before = contents();
  EXPECT_TRUE(isTrueInChild([&] {
    if (isRoot && seteuid(kNobody) != 0) return false;
    const BaselineFile file = open();
    file.insert(program(2), kName, 20);
    return file.find(program(1), kName) == 10 && !file.find(program(2), kName);
  }));
  EXPECT_EQ(contents(), before);
  // Nor can one be made there.
  fs::remove(file_);
  EXPECT_TRUE(isTrueInChild([&] {
    if (isRoot && seteuid(kNobody) != 0) return false;
    return !keepsAnything();
  }));
  EXPECT_FALSE(fs::exists(file_));
  fs::permissions(folder_, fs::perms(0700));
}

TEST_F(BaselineFileTest, AFullDiskKeepsNothing) {
  ASSERT_TRUE(keepsAnything());
  EXPECT_TRUE(isTrueInChild([&] {
    // Beyond this the system sends a signal that ends the process.
    const rlimit none = {0, 0};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) return false;
    const BaselineFile file = open();
    file.insert(program(2), kName, 20);
    return file.find(program(1), kName) == 10 && !file.find(program(2), kName);
  }));
}

// By the tool that LLVM has for it.
std::string buildIdOf(const std::string& path) {
  const std::string notes = runLlvmTool({"llvm-readelf", "--notes", path});
  const std::string label = "Build ID: ";
  const size_t begin = notes.find(label);
  EXPECT_NE(begin, std::string::npos) << notes;
  const size_t idBegin = begin + label.size();
  return notes.substr(idBegin, notes.find_first_of(" \n", idBegin) - idBegin);
}

TEST(LoadedCodeTest, NamesTheBuildsOfThisProgramAndOfLlvm) {
  const std::string identity = identityOfLoadedCode();
  Dl_info llvmLibrary = {};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&llvm::verifyModule), &llvmLibrary), 0);
  EXPECT_THAT(identity, HasSubstr(buildIdOf("/proc/" + std::to_string(getpid()) + "/exe")));
  EXPECT_THAT(identity, HasSubstr(buildIdOf(llvmLibrary.dli_fname)));
  EXPECT_EQ(identityOfLoadedCode(), identity);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
