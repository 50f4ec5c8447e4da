#include "compiler_gym/util/Subprocess.h"

#include <cstring>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace fs = boost::filesystem;

namespace compiler_gym::util {

using grpc::Status;
using grpc::StatusCode;

namespace {

std::string joinByBlanks(const google::protobuf::RepeatedPtrField<std::string>& arguments) {
  std::string joined;
  for (const std::string& argument : arguments) {
    if (!joined.empty()) joined += ' ';
    joined += argument;
  }
  return joined;
}

std::chrono::seconds timeoutOf(const Command& command) {
  return command.timeout_seconds() > 0 ? std::chrono::seconds(command.timeout_seconds())
                                       : kDefaultCommandTimeout;
}

Status checkFiles(const std::string& when,
                  const google::protobuf::RepeatedPtrField<std::string>& files,
                  const fs::path& directory, const std::string& commandline) {
  const fs::path base = directory.empty() ? fs::current_path() : directory;
  for (const std::string& file : files) {
    boost::system::error_code ignored;
    if (!fs::exists(fs::absolute(file, base), ignored)) {
      return Status(StatusCode::NOT_FOUND, "File \"" + file + "\" in directory " + base.string() +
                                               " does not exist " + when +
                                               " the command: " + commandline);
    }
  }
  return Status::OK;
}

}  // namespace

std::string quotedForShell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

LocalShellCommand::LocalShellCommand(const Command& command)
    : proto_(command),
      commandline_(joinByBlanks(command.argument())),
      timeout_(timeoutOf(command)) {}

std::string LocalShellCommand::summary() const {
  // A command line can have the size of a program.
  constexpr size_t kMaxBytes = 1024;
  return commandline_.size() <= kMaxBytes ? commandline_
                                          : commandline_.substr(0, kMaxBytes) + "...";
}

Status LocalShellCommand::checkCall(const fs::path& workingDirectory) const {
  ProcessResult result;
  return run(workingDirectory, /*captureOutput=*/false, &result);
}

Status LocalShellCommand::checkOutput(std::string& output, const fs::path& workingDirectory) const {
  ProcessResult result;
  RETURN_IF_ERROR(run(workingDirectory, /*captureOutput=*/true, &result));
  output = std::move(result.output);
  return Status::OK;
}

Status LocalShellCommand::measure(std::chrono::duration<double>& wallTime,
                                  const fs::path& workingDirectory) const {
  ProcessResult result;
  RETURN_IF_ERROR(run(workingDirectory, /*captureOutput=*/false, &result));
  wallTime = result.wallTime;
  return Status::OK;
}

Status LocalShellCommand::checkInfiles(const fs::path& workingDirectory) const {
  return checkFiles("before", proto_.infile(), workingDirectory, summary());
}

Status LocalShellCommand::checkOutfiles(const fs::path& workingDirectory) const {
  return checkFiles("after", proto_.outfile(), workingDirectory, summary());
}

Status LocalShellCommand::run(const fs::path& workingDirectory, bool captureOutput,
                              ProcessResult* result) const {
  boost::system::error_code ignored;
  if (!workingDirectory.empty() && !fs::is_directory(workingDirectory, ignored)) {
    return Status(StatusCode::NOT_FOUND, "Working directory " + workingDirectory.string() +
                                             " does not exist for the command: " + summary());
  }
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", commandline_};
  options.environment = {proto_.env().begin(), proto_.env().end()};
  options.workingDirectory = workingDirectory;
  options.timeout = timeout_;
  options.captureOutput = captureOutput;
  options.maxOutputBytes = kMaxCommandOutputBytes;
  RETURN_IF_ERROR(runProcess(options, result));
  return statusOf(*result);
}

Status LocalShellCommand::statusOf(const ProcessResult& result) const {
  const std::string command = ": " + summary();
  const std::string details = command + (result.errorTail.empty() ? "" : "\n" + result.errorTail);
  switch (result.end) {
    case ProcessResult::End::kTimedOut:
      return Status(StatusCode::DEADLINE_EXCEEDED, "Command did not end within " +
                                                       std::to_string(timeoutSeconds()) +
                                                       " seconds and was killed" + command);
    case ProcessResult::End::kTooMuchOutput:
      return Status(StatusCode::RESOURCE_EXHAUSTED,
                    "Command was killed because it wrote more than " +
                        std::to_string(kMaxCommandOutputBytes) + " bytes to its standard output" +
                        command);
    case ProcessResult::End::kSignalled:
      return Status(StatusCode::INTERNAL, "Command was ended by signal " +
                                              std::to_string(result.code) + " (" +
                                              strsignal(result.code) + ")" + details);
    case ProcessResult::End::kExited:
      break;
  }
  if (result.code == 0) return Status::OK;
  return Status(StatusCode::INTERNAL,
                "Command failed with exit code " + std::to_string(result.code) + details);
}

}  // namespace compiler_gym::util
