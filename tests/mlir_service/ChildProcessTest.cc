#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "mlir_service/ChildProcess.h"
#include "tests/util/RefusedForks.h"

namespace compiler_gym::mlir_service {
namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr std::chrono::seconds kLong(60);
constexpr std::chrono::milliseconds kShort(100);
// Enough for whatever the load of the machine.
constexpr int kMuchPatience = 1000;

TEST(ChildProcessTest, GivesOutput) {
  std::string output;
  const auto write = [](std::string& written) {
    written = std::string(1'000'000, 'x') + '\0';
    return Status::OK;
  };
  ASSERT_TRUE(callInChild("This", write, kLong, output).ok());
  EXPECT_EQ(output, std::string(1'000'000, 'x') + '\0');
}

TEST(ChildProcessTest, ChangesNothingHere) {
  int number = 1;
  std::string output;
  const auto change = [&](std::string&) {
    number = 2;
    return Status::OK;
  };
  ASSERT_TRUE(callInChild("This", change, kLong, output).ok());
  EXPECT_EQ(number, 1);
}

TEST(ChildProcessTest, GivesErrors) {
  std::string output;
  const auto fail = [](std::string&) { return Status(StatusCode::DATA_LOSS, "wrong"); };
  const Status status = callInChild("This", fail, kLong, output);
  EXPECT_EQ(status.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(status.error_message(), "wrong");
}

TEST(ChildProcessTest, Crash) {
  std::string output;
  const auto crash = [](std::string&) -> Status {
    raise(SIGSEGV);
    return Status::OK;
  };
  const Status status = callInChild("This", crash, kLong, output);
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_NE(status.error_message().find("This crashed: Segmentation fault"), std::string::npos);
}

TEST(ChildProcessTest, Exit) {
  std::string output;
  const auto leave = [](std::string&) -> Status { _exit(0); };
  EXPECT_EQ(callInChild("This", leave, kLong, output).error_code(), StatusCode::INTERNAL);
}

TEST(ChildProcessTest, Hang) {
  std::string output;
  const auto hang = [](std::string&) -> Status {
    volatile bool goesOn = true;
    while (goesOn) {
    }
    return Status::OK;
  };
  const Status status = callInChild("This", hang, kShort, output, kMuchPatience);
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "This took more than 0.1 s of processor time and was ended");
}

// As on a busy machine, which is not the fault of the function.
TEST(ChildProcessTest, TimeWithoutAProcessorDoesNotCount) {
  std::string output;
  const auto wait = [](std::string& written) {
    usleep(2 * 1000 * kShort.count());
    written = "done";
    return Status::OK;
  };
  const Status status = callInChild("This", wait, kShort, output, kMuchPatience);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(output, "done");
}

TEST(ChildProcessTest, TooLittleOfTheProcessor) {
  std::string output;
  const auto starve = [](std::string&) -> Status {
    while (true) pause();
  };
  const Status status = callInChild("This", starve, kShort, output);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("the machine is busy"), std::string::npos);
}

TEST(ChildProcessTest, Exception) {
  std::string output;
  const auto raiseError = [](std::string&) -> Status { throw std::bad_alloc(); };
  EXPECT_EQ(callInChild("This", raiseError, kLong, output).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

#ifndef COMPILER_GYM_SANITIZER
// Allocates memory that it does not touch.
Status allocate(size_t bytes) {
  volatile char* volatile memory = new char[bytes];
  *memory = 1;
  return Status::OK;
}

TEST(ChildProcessTest, OutOfMemoryDoesNotReachTheHandlerOfThisProcess) {
  const std::new_handler before = std::set_new_handler([] { _exit(7); });
  std::string output;
  const auto tooMuch = [](std::string&) { return allocate(size_t{5} << 30); };
  const Status status = callInChild("This", tooMuch, kLong, output);
  std::set_new_handler(before);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "Out of memory in This");
}

TEST(ChildProcessTest, LimitExcludesInheritedMemory) {
  const size_t inherited = size_t{3} << 30;
  void* const memory = mmap(nullptr, inherited, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::string output;
  const auto some = [](std::string&) { return allocate(size_t{2} << 30); };
  const Status status = callInChild("This", some, kLong, output);
  EXPECT_TRUE(status.ok()) << status.error_message();
  munmap(memory, inherited);
}
#endif

TEST(ChildProcessTest, NoDescriptorsLeft) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string output;
  const auto nothing = [](std::string&) { return Status::OK; };
  const Status status = callInChild("This", nothing, kLong, output);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("Cannot make a pipe"), std::string::npos);
}

TEST(ChildProcessTest, NoProcessesLeft) {
  std::string output;
  const auto nothing = [](std::string&) { return Status::OK; };
  {
    const util::RefusedForks refused(1);
    const Status status = callInChild("This", nothing, kLong, output);
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(), "Cannot copy the process: Resource temporarily unavailable");
  }
  EXPECT_TRUE(callInChild("This", nothing, kLong, output).ok());
}

}  // namespace
}  // namespace compiler_gym::mlir_service
