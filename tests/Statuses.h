#pragma once

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>

#include <string>

namespace compiler_gym {

inline std::string describe(const grpc::Status& status) {
  return "status " + std::to_string(status.error_code()) + " \"" + status.error_message() + "\"";
}

/// Matches a status that is OK, and otherwise shows the message.
MATCHER(IsOk, "") {
  *result_listener << describe(arg);
  return arg.ok();
}

/// Matches an error with a code and a message that contains a text.
MATCHER_P2(IsError, code, text, "") {
  *result_listener << describe(arg);
  return arg.error_code() == code && arg.error_message().find(text) != std::string::npos;
}

}  // namespace compiler_gym
