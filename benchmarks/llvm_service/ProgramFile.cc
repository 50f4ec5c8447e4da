#include "benchmarks/llvm_service/ProgramFile.h"

#include <boost/filesystem.hpp>

namespace compiler_gym::llvm_service {

namespace {

constexpr size_t kMaxProgramBytes = size_t{1} << 30;

}  // namespace

grpc::Status loadProgramFile(const std::string& path, std::shared_ptr<const Program>& program) {
  Benchmark benchmark;
  benchmark.mutable_program()->set_uri("file://" + boost::filesystem::absolute(path).string());
  return Program::load(benchmark, kMaxProgramBytes, program);
}

}  // namespace compiler_gym::llvm_service
