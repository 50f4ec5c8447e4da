// Checks of the contents of requests.
#pragma once

#include <grpcpp/support/status.h>

#include <memory>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/BenchmarkCache.h"

namespace compiler_gym::runtime {

// Finds the benchmark of a new session. A benchmark with a program is added to the cache first.
// INVALID_ARGUMENT if it has no URI or an empty program URI; NOT_FOUND if it has no
// program and is not in the cache.
grpc::Status findOrAddBenchmark(const Benchmark& benchmark, BenchmarkCache& cache,
                                std::shared_ptr<const Benchmark>* found);

// Adds all benchmarks of the request, also those that are a name without a program.
// INVALID_ARGUMENT if one of them has no URI or an empty program URI; then none is added.
grpc::Status addBenchmarks(const AddBenchmarkRequest& request, BenchmarkCache& cache);

}  // namespace compiler_gym::runtime
