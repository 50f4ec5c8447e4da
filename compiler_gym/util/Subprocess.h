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

// The largest standard output of a command, if the output is used: 16 MiB.
constexpr size_t kMaxCommandOutputBytes = 16 * 1024 * 1024;

// Returns a text as one word of a shell.
std::string quotedForShell(const std::string& text);

// A Command message, ready to run.
//
// Its arguments are joined by spaces and run by /bin/sh -c. They may use features of the shell
// (pipes, redirections, variables). Quote everything else. The environment is that of this process,
// with the command's variables added.
//
// `workingDirectory` is where the command runs, and what its relative infiles and outfiles refer
// to; empty means the current directory of this process.
//
// Running a command fails with
//   NOT_FOUND           if the working directory does not exist
//   DEADLINE_EXCEEDED   if it did not end in time; it and all it started have been killed
//   RESOURCE_EXHAUSTED  if its output is larger than kMaxCommandOutputBytes; all was killed, too
//   INTERNAL            if it exited with another code than 0, or by a signal; the text has the
//                       command and the last part of its standard error
// Background processes of the command are killed when it ends. The caller checks infiles and
// outfiles. Objects are immutable and thread-safe.
class LocalShellCommand {
 public:
  explicit LocalShellCommand(const Command& command);

  // Runs the command and discards its standard output.
  [[nodiscard]] grpc::Status checkCall(const boost::filesystem::path& workingDirectory = {}) const;

  // Runs the command and sets `output` to its standard output.
  [[nodiscard]] grpc::Status checkOutput(
      std::string& output, const boost::filesystem::path& workingDirectory = {}) const;

  // Runs the command as checkCall() does and sets `wallTime` to the time from the start of the
  // shell to its end, in seconds. This includes the start of the shell, about one millisecond on
  // the developers' machine.
  [[nodiscard]] grpc::Status measure(std::chrono::duration<double>& wallTime,
                                     const boost::filesystem::path& workingDirectory = {}) const;

  // Returns NOT_FOUND, with the name, if a file that must exist before or after the command does
  // not.
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

  // The command line for the shell.
  const std::string& commandline() const { return commandline_; }

  // True if there is no command.
  bool empty() const { return proto_.argument().empty(); }

  // The command line for messages: the beginning of a long one.
  std::string summary() const;

  // The status of a process that has run the command.
  [[nodiscard]] grpc::Status statusOf(const ProcessResult& result) const;

 private:
  grpc::Status run(const boost::filesystem::path& workingDirectory, bool captureOutput,
                   ProcessResult* result) const;

  const Command proto_;
  const std::string commandline_;
  const std::chrono::seconds timeout_;
};

}  // namespace compiler_gym::util
