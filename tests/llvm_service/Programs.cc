#include "tests/llvm_service/Programs.h"

#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "compiler_gym/util/Process.h"
#include "tests/Statuses.h"

namespace compiler_gym::llvm_service {

namespace {

namespace fs = boost::filesystem;

constexpr std::chrono::minutes kToolTimeout(2);
constexpr size_t kMaxToolOutputBytes = 64 << 20;

// Returns the path at which a test finds a file of the source tree or of Bazel's outputs.
fs::path runfile(const std::string& path) {
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  EXPECT_TRUE(runfiles != nullptr && workspace != nullptr) << "This is a test of Bazel";
  return fs::path(runfiles == nullptr ? "" : runfiles) / (workspace == nullptr ? "" : workspace) /
         path;
}

// The service has it beside its program.
const bool knowsConfiningProgram =
    setenv("COMPILER_GYM_CONFINE", runfile("llvm_service/compiler_gym-confine").c_str(), 1) == 0;

std::map<std::string, std::string> readKernels() {
  std::map<std::string, std::string> result;
  boost::system::error_code error;
  for (const fs::directory_entry& file :
       fs::directory_iterator(runfile("tests/llvm_service/kernels"), error)) {
    result.emplace(file.path().stem().string(), readFile(file.path().string()));
  }
  EXPECT_FALSE(result.empty()) << "The test needs the data //tests/llvm_service:kernels";
  return result;
}

}  // namespace

Benchmark makeBenchmark(const std::string& program, const std::string& uri) {
  Benchmark benchmark;
  benchmark.set_uri(uri);
  benchmark.mutable_program()->set_contents(program);
  return benchmark;
}

const std::map<std::string, std::string>& kernels() {
  static const std::map<std::string, std::string> result = readKernels();
  return result;
}

std::vector<std::string> kernelNames() {
  std::vector<std::string> names;
  for (const auto& [name, bitcode] : kernels()) {
    names.push_back(name);
  }
  return names;
}

const std::string& kernel(const std::string& name) { return kernels().at(name); }

std::string ownPassesPlugin() { return testFile("llvm_service/compiler_gym-llvm-passes.so"); }

std::string testFile(const std::string& path) {
  const fs::path file = runfile(path);
  EXPECT_TRUE(fs::exists(file)) << "The test needs the data " << path;
  return file.string();
}

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

util::ProcessResult tryLlvmTool(const std::vector<std::string>& arguments) {
  util::ProcessOptions options;
  options.arguments = arguments;
  options.arguments.front() = COMPILER_GYM_LLVM_PREFIX "/bin/" + arguments.front();
  options.timeout = kToolTimeout;
  options.captureOutput = true;
  options.maxOutputBytes = kMaxToolOutputBytes;
  util::ProcessResult result;
  EXPECT_THAT(util::runProcess(options, &result), IsOk());
  return result;
}

std::string runLlvmTool(const std::vector<std::string>& arguments) {
  const util::ProcessResult result = tryLlvmTool(arguments);
  EXPECT_EQ(result.end, util::ProcessResult::End::kExited) << arguments.front();
  EXPECT_EQ(result.code, 0) << arguments.front() << ": " << result.errorTail;
  return result.output;
}

int64_t berkeleyTextSize(const std::string& path) {
  std::istringstream lines(runLlvmTool({"llvm-size", path}));
  std::string heading;
  std::getline(lines, heading);
  EXPECT_THAT(heading, ::testing::HasSubstr("text"));
  int64_t size = -1;
  lines >> size;
  return size;
}

}  // namespace compiler_gym::llvm_service
