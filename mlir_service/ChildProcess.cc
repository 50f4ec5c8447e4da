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
#include <ctime>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>

#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "mlir_service/Rights.h"

namespace compiler_gym::mlir_service {

namespace {

using compiler_gym::util::FileDescriptor;
using grpc::Status;
using grpc::StatusCode;
using Clock = std::chrono::steady_clock;
/// The work of a child process, whose output goes to a file in the end.
using DescriptorFunction = std::function<Status(int descriptor, std::string& output)>;

constexpr int kLastCode = StatusCode::UNAUTHENTICATED;

Status systemError(const std::string& what) {
  return {StatusCode::RESOURCE_EXHAUSTED,
          "Cannot " + what + ": " + std::generic_category().message(errno)};
}

#ifndef COMPILER_GYM_SANITIZER  // Those reserve more than any limit.
// The memory limit for a kernel's allocations, beyond the memory in use already.
constexpr rlim_t kMaxBytes = rlim_t{4} << 30;

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

/// Runs the work in the child. Writes the status code, and then its message or the output.
[[noreturn]] void actAsChild(const std::string& what, const DescriptorFunction& work, pid_t parent,
                             int descriptor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);
  for (int signal = 1; signal < SIGRTMIN; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // The handler inherited from the worker would end the session.
  std::set_new_handler(nullptr);
  limitResources();
  std::string output;
  const Status status = util::callWithoutExceptions(what, [&] { return work(descriptor, output); });
  const char code = static_cast<char>(status.error_code());
  writeAll(descriptor, std::string(1, code) + (status.ok() ? output : status.error_message()));
  _exit(EXIT_SUCCESS);
}

/// The processor time that a child has taken.
std::chrono::nanoseconds processorTime(pid_t child) {
  clockid_t clock = {};
  timespec time = {};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

enum class End { kByItself, kTookTooLong, kGotTooLittle, kWroteTooMuch };

/// Reads until the child closes its end, or takes too much.
End readUntilEnd(int descriptor, pid_t child, const ChildLimits& limits, std::string& bytes) {
  using std::chrono::milliseconds;
  const auto deadline = Clock::now() + limits.patience * limits.time;
  std::array<char, 1 << 16> buffer;
  while (bytes.size() <= limits.outputBytes + sizeof(char)) {
    const auto left = std::chrono::ceil<milliseconds>(limits.time - processorTime(child));
    if (left.count() <= 0) return End::kTookTooLong;
    const auto leftByClock = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (leftByClock.count() <= 0) return End::kGotTooLittle;
    pollfd polled = {descriptor, POLLIN, 0};
    if (poll(&polled, 1, static_cast<int>(std::min(left, leftByClock).count())) <= 0) continue;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count == 0) return End::kByItself;
    if (count > 0) bytes.append(buffer.data(), static_cast<size_t>(count));
  }
  return End::kWroteTooMuch;
}

/// The status of a child that was killed.
Status statusOfKilled(const std::string& what, End end, const ChildLimits& limits) {
  std::ostringstream text;
  if (end == End::kWroteTooMuch) {
    text << what << " wrote more than " << limits.outputBytes << " bytes and was ended";
    return {StatusCode::RESOURCE_EXHAUSTED, text.str()};
  }
  text << what << " took more than " << std::chrono::duration<double>(limits.time).count() << " s";
  if (end == End::kTookTooLong) {
    return {StatusCode::DEADLINE_EXCEEDED, text.str() + " of processor time and was ended"};
  }
  text << " by the clock, and got less of the processor: the machine is busy. Try again";
  return {StatusCode::RESOURCE_EXHAUSTED, text.str()};
}

Status statusOf(const std::string& what, int waitStatus, const std::string& reply,
                std::string& output) {
  if (WIFSIGNALED(waitStatus)) {
    return {StatusCode::INTERNAL, what + " crashed: " + strsignal(WTERMSIG(waitStatus))};
  }
  if (reply.empty() || reply.front() < StatusCode::OK || reply.front() > kLastCode) {
    return {StatusCode::INTERNAL, what + " ended its process"};
  }
  const auto code = static_cast<StatusCode>(reply.front());
  if (code != StatusCode::OK) return {code, reply.substr(1)};
  output = reply.substr(1);
  return Status::OK;
}

Status callInCopy(const std::string& what, const DescriptorFunction& work,
                  const ChildLimits& limits, std::string& output) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return systemError("make a pipe");
  const FileDescriptor readEnd(ends[0]);
  FileDescriptor writeEnd(ends[1]);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) return systemError("copy the process");
  if (child == 0) actAsChild(what, work, self, writeEnd.get());
  writeEnd.close();
  std::string reply;
  const End end = readUntilEnd(readEnd.get(), child, limits, reply);
  if (end != End::kByItself) kill(child, SIGKILL);
  int waitStatus = 0;
  while (waitpid(child, &waitStatus, 0) < 0 && errno == EINTR) {
  }
  if (end != End::kByItself) return statusOfKilled(what, end, limits);
  return statusOf(what, waitStatus, reply, output);
}

}  // namespace

Status callInChild(const std::string& what, const ChildFunction& function,
                   const ChildLimits& limits, std::string& output) {
  const auto work = [&](int, std::string& written) { return function(written); };
  return callInCopy(what, work, limits, output);
}

Status callConfinedInChild(const std::string& what, const ChildFunction& function,
                           const ChildLimits& limits, std::string& output) {
#ifdef COMPILER_GYM_SANITIZER  // Those call other functions of the system.
  const auto work = [&](int, std::string& written) { return function(written); };
#else
  const auto work = [&](int descriptor, std::string& written) -> Status {
    RETURN_IF_ERROR(giveUpRights(descriptor));
    return function(written);
  };
#endif
  return callInCopy(what, work, limits, output);
}

}  // namespace compiler_gym::mlir_service
