#include "tests/Statuses.h"

namespace compiler_gym {

std::string describe(const grpc::Status& status) {
  return "status " + std::to_string(status.error_code()) + " \"" + status.error_message() + "\"";
}

namespace {

MATCHER(HasNoError, "is OK") {
  *result_listener << describe(arg);
  return arg.ok();
}

MATCHER_P2(HasError, code, text,
           "is error " + std::to_string(code) + " with the text \"" + text + "\"") {
  *result_listener << describe(arg);
  return arg.error_code() == code && arg.error_message().find(text) != std::string::npos;
}

}  // namespace

StatusMatcher IsOk() { return HasNoError(); }

StatusMatcher IsError(grpc::StatusCode code, const std::string& text) {
  return HasError(code, text);
}

}  // namespace compiler_gym
