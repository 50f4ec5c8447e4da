// Session parameters that every service understands.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>

#include "compiler_gym/service/runtime/BenchmarkCache.h"

namespace compiler_gym::runtime {

// Handles the parameters of the benchmark cache, which belong to the service and not to the session
// that they are sent to. Sizes are decimal numbers of bytes.
//   service.benchmark_cache.set_max_size_in_bytes  evicts down to the size, which is the reply.
//                                                  INVALID_ARGUMENT if it is not 0 to 2^63 - 1
//   service.benchmark_cache.get_max_size_in_bytes  ignores the value
//   service.benchmark_cache.get_size_in_bytes      ignores the value
// Leaves `reply` unset for any other key.
grpc::Status handleBenchmarkCacheParameter(const std::string& key, const std::string& value,
                                           BenchmarkCache& cache,
                                           std::optional<std::string>& reply);

}  // namespace compiler_gym::runtime
