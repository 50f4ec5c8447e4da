#include "compiler_gym/service/runtime/server/rpc/BuiltinParameters.h"

#include <charconv>
#include <system_error>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

Status parseSize(const std::string& key, const std::string& value, int64_t* size) {
  const char* const end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, *size);
  if (error == std::errc() && parsed == end && *size >= 0) return Status::OK;
  return Status(StatusCode::INVALID_ARGUMENT, key + " must be a whole number of bytes from 0 to " +
                                                  std::to_string(INT64_MAX) + ", not \"" + value +
                                                  "\"");
}

}  // namespace compiler_gym::runtime
