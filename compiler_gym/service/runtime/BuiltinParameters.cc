#include "compiler_gym/service/runtime/BuiltinParameters.h"

#include <charconv>
#include <cstdint>
#include <system_error>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

Status parseSize(const std::string& key, const std::string& value, int64_t* size) {
  const char* const end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, *size);
  if (error == std::errc() && parsed == end && *size >= 0) return Status::OK;
  return Status(StatusCode::INVALID_ARGUMENT, key + " must be a whole number of bytes from 0 to " +
                                                  std::to_string(INT64_MAX) + ", not \"" + value +
                                                  "\"");
}

}  // namespace

Status handleBenchmarkCacheParameter(const std::string& key, const std::string& value,
                                     BenchmarkCache& cache, std::optional<std::string>& reply) {
  if (key == "service.benchmark_cache.set_max_size_in_bytes") {
    int64_t size = 0;
    RETURN_IF_ERROR(parseSize(key, value, &size));
    cache.setMaxSizeInBytes(static_cast<size_t>(size));
    reply = value;
  } else if (key == "service.benchmark_cache.get_max_size_in_bytes") {
    reply = std::to_string(cache.maxSizeInBytes());
  } else if (key == "service.benchmark_cache.get_size_in_bytes") {
    reply = std::to_string(cache.sizeInBytes());
  }
  return Status::OK;
}

}  // namespace compiler_gym::runtime
