#include "mlir_service/ChildProcess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>

#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::mlir_service {

namespace {

using compiler_gym::util::FileDescriptor;
using grpc::Status;
using grpc::StatusCode;
using Clock = std::chrono::steady_clock;

// The memory limit for a kernel's allocations, beyond the memory in use already.
constexpr rlim_t kMaxBytes = rlim_t{4} << 30;

Status systemError(const std::string& what) {
  return {StatusCode::RESOURCE_EXHAUSTED,
          "Cannot " + what + ": " + std::generic_category().message(errno)};
}

#ifndef COMPILER_GYM_SANITIZER  // Those reserve more than any limit.
/// The writable memory that this process has already.
rlim_t inheritedBytes() {
  std::ifstream file("/proc/self/statm");
  rlim_t total = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  file >> total >> resident >> shared >> text >> library >> data;
  return data * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}
#endif

void limitResources() {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#ifndef COMPILER_GYM_SANITIZER
  rlimit data = {};
  getrlimit(RLIMIT_DATA, &data);
  // Keeps the limit of the session if that is lower.
  data.rlim_cur = std::min(data.rlim_cur, inheritedBytes() + kMaxBytes);
  setrlimit(RLIMIT_DATA, &data);
#endif
}

void writeAll(int descriptor, const std::string& bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = write(descriptor, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<size_t>(count);
  }
}

/// Runs the function in the child. Writes the status code, and then its message or the output.
[[noreturn]] void actAsChild(const std::string& what, const ChildFunction& function, pid_t parent,
                             int descriptor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);
  for (int signal = 1; signal < SIGRTMIN; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // The handler inherited from the session process would end the session.
  std::set_new_handler(nullptr);
  limitResources();
  std::string output;
  const Status status = util::callWithoutExceptions(what, [&] { return function(output); });
  const char code = static_cast<char>(status.error_code());
  writeAll(descriptor, std::string(1, code) + (status.ok() ? output : status.error_message()));
  _exit(EXIT_SUCCESS);
}

/// Reads until the other end is closed. Returns false if that takes too long.
bool readUntil(int descriptor, Clock::time_point deadline, std::string& bytes) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd polled = {descriptor, POLLIN, 0};
    if (poll(&polled, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count > 0) bytes.append(buffer.data(), static_cast<size_t>(count));
  }
}

Status statusOf(const std::string& what, int waitStatus, const std::string& reply,
                std::string& output) {
  if (WIFSIGNALED(waitStatus)) {
    return {StatusCode::INTERNAL, what + " crashed: " + strsignal(WTERMSIG(waitStatus))};
  }
  if (reply.empty()) return {StatusCode::INTERNAL, what + " ended its process"};
  const auto code = static_cast<StatusCode>(reply.front());
  if (code != StatusCode::OK) return {code, reply.substr(1)};
  output = reply.substr(1);
  return Status::OK;
}

}  // namespace

Status callInChild(const std::string& what, const ChildFunction& function,
                   std::chrono::seconds limit, std::string& output) {
  const auto deadline = Clock::now() + limit;
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return systemError("make a pipe");
  const FileDescriptor readEnd(ends[0]);
  FileDescriptor writeEnd(ends[1]);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) return systemError("copy the process");
  if (child == 0) actAsChild(what, function, self, writeEnd.get());
  writeEnd.close();
  std::string reply;
  const bool hasEnded = readUntil(readEnd.get(), deadline, reply);
  if (!hasEnded) kill(child, SIGKILL);
  int waitStatus = 0;
  while (waitpid(child, &waitStatus, 0) < 0 && errno == EINTR) {
  }
  if (!hasEnded) {
    return {StatusCode::DEADLINE_EXCEEDED,
            what + " took more than " + std::to_string(limit.count()) + " s and was ended"};
  }
  return statusOf(what, waitStatus, reply, output);
}

}  // namespace compiler_gym::mlir_service
