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

// What to run, and how.
struct ProcessOptions {
  // The absolute path of the program, and its arguments.
  std::vector<std::string> arguments;
  // Set in addition to the environment of this process.
  std::map<std::string, std::string> environment;
  // Empty: that of this process.
  boost::filesystem::path workingDirectory;
  std::chrono::nanoseconds timeout;
  // Keep what the process writes to its standard output, rather than discard it.
  bool captureOutput = false;
  // A process that writes more than this to its captured standard output is killed.
  size_t maxOutputBytes = 0;
  // How much of the end of its standard error to keep.
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
  // From just before the process is made to its end, never less than its life. What is added is
  // about a tenth of a millisecond on an idle machine, mostly for making the process.
  std::chrono::nanoseconds wallTime{0};
};

// Runs a process to its end, or kills it. It reads nothing on its standard input and has no open
// file of this process. It leads its own process group, which is killed when it has ended, exceeds
// its time, or writes too much: nothing it started stays behind, except what left the group.
//
// The current directory, environment, signal handlers and other children of this process are not
// touched, so any number of threads can call this. INTERNAL if the process cannot be started.
[[nodiscard]] grpc::Status runProcess(const ProcessOptions& options, ProcessResult* result);

// Limits how much data this process may have (RLIMIT_DATA), but not the processes that runProcess()
// starts: these have the limit that this process had at first.
void limitOwnData(uint64_t bytes);

// What runProcess() is to call before it starts a process, in its thread. Set it before the first.
void setProcessObserver(std::function<void()> beforeStart);

// Calls that function on behalf of code that is about to start a process by other means.
void tellProcessObserver();

// Opens a descriptor of a process, see pidfd_open(2). Negative if that fails.
int openPidfd(pid_t pid);

}  // namespace compiler_gym::util
