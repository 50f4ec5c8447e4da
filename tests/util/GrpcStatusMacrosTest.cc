#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Version.h"

namespace compiler_gym::util {
namespace {

using grpc::Status;
using grpc::StatusCode;

Status throwError() { throw std::runtime_error("reason"); }

Status returnIfError(const Status& status, bool* passed) {
  RETURN_IF_ERROR(status);
  *passed = true;
  return Status::OK;
}

TEST(GrpcStatusMacros, ReturnIfErrorReturnsTheStatus) {
  bool passed = false;
  const Status status = returnIfError(Status(StatusCode::DATA_LOSS, "text"), &passed);
  EXPECT_EQ(status.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(status.error_message(), "text");
  EXPECT_FALSE(passed);
  EXPECT_TRUE(returnIfError(Status::OK, &passed).ok());
  EXPECT_TRUE(passed);
}

TEST(GrpcStatusMacros, ReturnIfErrorEvaluatesOnce) {
  int count = 0;
  const auto function = [&count]() -> Status {
    RETURN_IF_ERROR((++count, Status::OK));
    return Status::OK;
  };
  EXPECT_TRUE(function().ok());
  EXPECT_EQ(count, 1);
}

TEST(GrpcStatusMacros, CallWithoutExceptions) {
  EXPECT_TRUE(callWithoutExceptions("a", [] { return Status::OK; }).ok());
  EXPECT_EQ(callWithoutExceptions("a", throwError).error_message(), "Exception in a: reason");
  EXPECT_EQ(callWithoutExceptions("a", []() -> Status { throw std::bad_alloc(); }).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(callWithoutExceptions("a", []() -> Status { throw 1; }).error_code(),
            StatusCode::INTERNAL);
}

TEST(GrpcStatusMacrosDeathTest, AssertOk) {
  ASSERT_OK(Status::OK);
  EXPECT_DEATH(ASSERT_OK(Status(StatusCode::INTERNAL, "the reason")), "the reason");
}

TEST(Version, HasThreeNumbers) {
  EXPECT_THAT(std::string(kVersion), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
}

}  // namespace
}  // namespace compiler_gym::util
