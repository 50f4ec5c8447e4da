#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/util/Process.h"

namespace compiler_gym::llvm_service {

/// A benchmark whose program is bitcode or textual IR.
Benchmark makeBenchmark(const std::string& program,
                        const std::string& uri = "benchmark://test-v0/program");

/// The programs of the dataset of kernels as unoptimised bitcode, by name. Empty, with a failed
/// test, if they are not among the test's files.
const std::map<std::string, std::string>& kernels();

/// Their names, in order.
std::vector<std::string> kernelNames();

/// The bitcode of one of them.
const std::string& kernel(const std::string& name);

/// The path of a file among the test's data, given as in the source tree.
std::string testFile(const std::string& path);

/// The plugin with the project's own passes, for `opt`. The test needs it among its data.
std::string ownPassesPlugin();

/// The whole of a file. An unreadable file fails the test.
std::string readFile(const std::string& path);

/// Runs a tool of the LLVM that the service is linked with, and returns its standard output.
/// Failing with anything but exit code 0 fails the test.
///
/// @param arguments the name of the tool, then its arguments, without any quoting.
std::string runLlvmTool(const std::vector<std::string>& arguments);

/// The same for tools that may fail, or be ended by a signal.
util::ProcessResult tryLlvmTool(const std::vector<std::string>& arguments);

/// The column "text" of what llvm-size prints about a file, in bytes.
int64_t berkeleyTextSize(const std::string& path);

}  // namespace compiler_gym::llvm_service
