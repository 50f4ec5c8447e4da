#pragma once

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>

#include <string>

namespace compiler_gym {

std::string describe(const grpc::Status& status);

// Not templates, which each source would compile again.
using StatusMatcher = ::testing::Matcher<const grpc::Status&>;

/// Matches a status that is OK, and otherwise shows the message.
StatusMatcher IsOk();

/// Matches an error with a code and a message that contains a text.
StatusMatcher IsError(grpc::StatusCode code, const std::string& text);

}  // namespace compiler_gym
