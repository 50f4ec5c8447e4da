// Runs the commands of a benchmark.
#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/util/Process.h"

namespace compiler_gym::util {

// Time limit of a command that does not set one.
constexpr std::chrono::seconds kDefaultCommandTimeout(60);

// Largest standard output of a command whose output is wanted: 16 MiB.
constexpr size_t kMaxCommandOutputBytes = 16 * 1024 * 1024;

// A Command message, ready to run.
//
// Its arguments are joined by blanks and run by /bin/sh -c, so they may use what the shell offers
// (pipes, redirections, variables), and whoever builds them must quote what is not meant for it.
// The environment is that of this process, with the command's variables added.
//
// `workingDirectory` is where the command runs, and what its relative infiles and outfiles refer
// to; empty means the current directory of this process.
//
// Running a command fails with
//   NOT_FOUND           if the working directory does not exist
//   DEADLINE_EXCEEDED   if it did not end in time; it and all it started have been killed
//   RESOURCE_EXHAUSTED  if its output is larger than kMaxCommandOutputBytes; likewise
//   INTERNAL            if it exited with another code than 0, or by a signal; the text has the
//                       command and the last part of its standard error
// What it leaves running in the background is killed when it ends. Infiles and outfiles are checked
// by the caller. Objects are immutable: any number of threads may use one.
class LocalShellCommand {
 public:
  explicit LocalShellCommand(const Command& command);

  // Runs the command and discards its standard output.
  [[nodiscard]] grpc::Status checkCall(const boost::filesystem::path& workingDirectory = {}) const;

  // Runs the command and sets `output` to its standard output.
  [[nodiscard]] grpc::Status checkOutput(
      std::string& output, const boost::filesystem::path& workingDirectory = {}) const;

  // Runs the command as checkCall() does and sets `wallTime` to the time from the start of the
  // shell to its end, in seconds. The start of the shell is part of it, with about one millisecond
  // on the machine that this was developed on.
  [[nodiscard]] grpc::Status measure(std::chrono::duration<double>& wallTime,
                                     const boost::filesystem::path& workingDirectory = {}) const;

  // NOT_FOUND, naming the file, if one that must exist before or after the command does not.
  [[nodiscard]] grpc::Status checkInfiles(
      const boost::filesystem::path& workingDirectory = {}) const;
  [[nodiscard]] grpc::Status checkOutfiles(
      const boost::filesystem::path& workingDirectory = {}) const;

  const Command& proto() const { return proto_; }
  std::vector<std::string> arguments() const {
    return {proto_.argument().begin(), proto_.argument().end()};
  }
  std::unordered_map<std::string, std::string> env() const {
    return {proto_.env().begin(), proto_.env().end()};
  }
  std::vector<boost::filesystem::path> infiles() const {
    return {proto_.infile().begin(), proto_.infile().end()};
  }
  std::vector<boost::filesystem::path> outfiles() const {
    return {proto_.outfile().begin(), proto_.outfile().end()};
  }

  // The time limit; kDefaultCommandTimeout if the message has none.
  std::chrono::seconds timeout() const { return timeout_; }
  int timeoutSeconds() const { return static_cast<int>(timeout_.count()); }

  // What the shell is given.
  const std::string& commandline() const { return commandline_; }

  // There is nothing to run.
  bool empty() const { return proto_.argument().empty(); }

 private:
  grpc::Status run(const boost::filesystem::path& workingDirectory, bool captureOutput,
                   ProcessResult* result) const;
  grpc::Status statusOf(const ProcessResult& result) const;

  const Command proto_;
  const std::string commandline_;
  const std::chrono::seconds timeout_;
};

}  // namespace compiler_gym::util
