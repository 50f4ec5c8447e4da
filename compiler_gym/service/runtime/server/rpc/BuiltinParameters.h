// Session parameters that every service understands.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

// The prefixes of the parameters of the BenchmarkCache and of the PristinePool.
constexpr char kBenchmarkCacheParameters[] = "service.benchmark_cache";
constexpr char kPristinePoolParameters[] = "service.pristine_sessions";

// Decodes a decimal number of bytes. INVALID_ARGUMENT, naming the key, if it is not 0 to 2^63 - 1.
grpc::Status parseSize(const std::string& key, const std::string& value, int64_t* size);

// Handles the parameters of something that has a size and a limit of it. They belong to the service
// and not to the session that they are sent to.
//   PREFIX.set_max_size_in_bytes  evicts down to the size, which is the reply
//   PREFIX.get_max_size_in_bytes  ignores the value
//   PREFIX.get_size_in_bytes      ignores the value
// Leaves `reply` unset for any other key.
template <typename Sized>
grpc::Status handleSizeParameters(const std::string& prefix, const std::string& key,
                                  const std::string& value, Sized& sized,
                                  std::optional<std::string>& reply) {
  if (key == prefix + ".set_max_size_in_bytes") {
    int64_t size = 0;
    RETURN_IF_ERROR(parseSize(key, value, &size));
    sized.setMaxSizeInBytes(static_cast<size_t>(size));
    reply = value;
  } else if (key == prefix + ".get_max_size_in_bytes") {
    reply = std::to_string(sized.maxSizeInBytes());
  } else if (key == prefix + ".get_size_in_bytes") {
    reply = std::to_string(sized.sizeInBytes());
  }
  return grpc::Status::OK;
}

}  // namespace compiler_gym::runtime
