#include "compiler_gym/service/runtime/server/rpc/Requests.h"

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

bool hasProgram(const Benchmark& benchmark) {
  return benchmark.program().data_case() != File::DATA_NOT_SET;
}

Status checkUri(const Benchmark& benchmark) {
  if (!benchmark.uri().empty()) return Status::OK;
  return Status(
      StatusCode::INVALID_ARGUMENT,
      "The benchmark has no URI: set Benchmark.uri, e.g. to \"benchmark://user-v0/name\"");
}

// Checks the place of a program. Only the compiler can judge its contents, which may be empty, and
// whether a name without a program is enough.
Status checkProgram(const Benchmark& benchmark) {
  const File& program = benchmark.program();
  if (program.data_case() != File::kUri || !program.uri().empty()) return Status::OK;
  return Status(StatusCode::INVALID_ARGUMENT,
                "The program of the benchmark \"" + benchmark.uri() +
                    "\" has an empty URI: set Benchmark.program.uri to \"file:///absolute/path\", "
                    "or set Benchmark.program.contents");
}

}  // namespace

Status findOrAddBenchmark(const Benchmark& benchmark, BenchmarkCache& cache,
                          std::shared_ptr<const Benchmark>* found) {
  RETURN_IF_ERROR(checkUri(benchmark));
  if (hasProgram(benchmark)) {
    RETURN_IF_ERROR(checkProgram(benchmark));
    *found = cache.add(benchmark);
    return Status::OK;
  }
  *found = cache.find(benchmark.uri());
  if (*found) return Status::OK;
  return Status(StatusCode::NOT_FOUND, "Benchmark not found: \"" + benchmark.uri() + "\"");
}

Status addBenchmarks(const AddBenchmarkRequest& request, BenchmarkCache& cache) {
  for (const Benchmark& benchmark : request.benchmark()) {
    RETURN_IF_ERROR(checkUri(benchmark));
    RETURN_IF_ERROR(checkProgram(benchmark));
  }
  for (const Benchmark& benchmark : request.benchmark()) cache.add(benchmark);
  return Status::OK;
}

}  // namespace compiler_gym::runtime
