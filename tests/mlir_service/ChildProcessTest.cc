#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "mlir_service/ChildProcess.h"

namespace compiler_gym::mlir_service {
namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr std::chrono::seconds kLong(60);

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
    while (true) pause();
  };
  const Status status = callInChild("This", hang, std::chrono::seconds(1), output);
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST(ChildProcessTest, Exception) {
  std::string output;
  const auto raiseError = [](std::string&) -> Status { throw std::bad_alloc(); };
  EXPECT_EQ(callInChild("This", raiseError, kLong, output).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace compiler_gym::mlir_service
