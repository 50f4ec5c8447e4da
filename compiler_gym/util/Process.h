// Child processes of a program with many threads.
#pragma once

#include <grpcpp/support/status.h>
#include <sys/types.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace compiler_gym::util {

// A program to run, and its settings.
struct ProcessOptions {
  // The absolute path of the program, and its arguments.
  std::vector<std::string> arguments;
  // Set in addition to the environment of this process.
  std::map<std::string, std::string> environment;
  // Empty for the directory of this process.
  boost::filesystem::path workingDirectory;
  std::chrono::nanoseconds timeout;
  // Whether to keep the standard output of the process rather than discard it.
  bool captureOutput = false;
  // A process that writes more than this to its captured standard output is killed.
  size_t maxOutputBytes = 0;
  // Maximum number of bytes to keep from the end of its standard error.
  size_t errorTailBytes = 4096;
};

// How a process ended.
struct ProcessResult {
  enum class End { kExited, kSignalled, kTimedOut, kTooMuchOutput };
  End end = End::kExited;
  // The exit code, or the number of the signal.
  int code = 0;
  std::string output;
  std::string errorTail;
  // The time from just before the process is created to its end. This is never less than its life;
  // the difference is about a tenth of a millisecond on an idle machine.
  std::chrono::nanoseconds wallTime{0};
};

// Runs a process to its end, or kills it. Its standard input is empty, and it has no open file of
// this process. It leads its own process group. The group is killed when the process has ended,
// exceeds its time, or writes too much. So all processes that it started end, unless they have left
// the group.
//
// Thread-safe: does not touch the current directory, environment, signal handlers and other
// children of this process. INTERNAL if the process cannot be started.
[[nodiscard]] grpc::Status runProcess(const ProcessOptions& options, ProcessResult* result);

// Limits how much data this process may have (RLIMIT_DATA), but not the processes that runProcess()
// starts: these have the initial limit of this process.
void limitOwnData(uint64_t bytes);

// Sets a function that runProcess() calls before it starts a process, in the same thread. Set it
// before the first process.
void setProcessObserver(std::function<void()> beforeStart);

// Calls that function. For code that is about to start a process by other means.
void tellProcessObserver();

// Opens a descriptor of a process, see pidfd_open(2). Negative if that fails.
int openPidfd(pid_t pid);

}  // namespace compiler_gym::util
