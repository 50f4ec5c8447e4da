#include "compiler_gym/util/Process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::util {

using grpc::Status;
using grpc::StatusCode;
using Clock = std::chrono::steady_clock;

namespace {

Status systemError(const std::string& what, int errorNumber) {
  return Status(StatusCode::INTERNAL,
                "Cannot " + what + ": " + std::generic_category().message(errorNumber));
}

// A pipe from a child to this process, which reads it without waiting.
struct Pipe {
  Status open() {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return systemError("make a pipe", errno);
    readEnd = FileDescriptor(ends[0]);
    writeEnd = FileDescriptor(ends[1]);
    // If this process was started without standard files, the pipe may have their numbers, which
    // the child needs.
    const FileDescriptor original = std::move(writeEnd);
    writeEnd = FileDescriptor(fcntl(original.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (writeEnd.get() < 0) return systemError("make a pipe", errno);
    fcntl(readEnd.get(), F_SETFL, O_NONBLOCK);
    return Status::OK;
  }

  FileDescriptor readEnd;
  FileDescriptor writeEnd;
};

// Returns arguments or environment variables in the form of C functions.
std::vector<char*> pointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environmentWith(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable; ++variable) {
    const std::string assignment = *variable;
    if (!additions.count(assignment.substr(0, assignment.find('=')))) {
      environment.push_back(assignment);
    }
  }
  for (const auto& [name, value] : additions) environment.push_back(name + "=" + value);
  return environment;
}

// The actions in the child between the fork and the start of its program.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void setFiles(int outputDescriptor, int errorDescriptor) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (outputDescriptor >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, outputDescriptor, STDOUT_FILENO);
    } else {
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_adddup2(&actions_, errorDescriptor, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }

  void setWorkingDirectory(const boost::filesystem::path& directory) {
    if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str());
  }

  // Puts the child into a process group of its own, and resets its signals. A service blocks and
  // ignores some.
  void isolate() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  int spawn(pid_t* pid, char* const* arguments, char* const* environment) const {
    return posix_spawn(pid, arguments[0], &actions_, &attributes_, arguments, environment);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// The data limit for children, if limitOwnData() has set another limit for this process.
std::optional<rlimit>& dataLimitOfChildren() {
  static std::optional<rlimit> limit;
  return limit;
}

// Sets the limit of children in this process, from which they inherit it, until it is destroyed.
class ChildrensDataLimit {
 public:
  ChildrensDataLimit() : lock_(mutex()) {
    if (!dataLimitOfChildren()) return;
    getrlimit(RLIMIT_DATA, &own_);
    setrlimit(RLIMIT_DATA, &*dataLimitOfChildren());
  }
  ~ChildrensDataLimit() {
    if (dataLimitOfChildren()) setrlimit(RLIMIT_DATA, &own_);
  }
  ChildrensDataLimit(const ChildrensDataLimit&) = delete;
  ChildrensDataLimit& operator=(const ChildrensDataLimit&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  const std::lock_guard<std::mutex> lock_;
  rlimit own_ = {};
};

// See setProcessObserver().
class ProcessObserver {
 public:
  // Returns the observer of this program.
  static ProcessObserver& instance() {
    static ProcessObserver observer;
    return observer;
  }

  void set(std::function<void()> observer) {
    const std::lock_guard lock(mutex_);
    observer_ = std::move(observer);
  }

  void tell() {
    const std::lock_guard lock(mutex_);
    if (observer_) observer_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> observer_;
};

// A running child that leads a process group. The destructor kills and reaps it.
class Child {
 public:
  Child() = default;
  ~Child() {
    killGroup();
    reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Status start(const ProcessOptions& options, int outputDescriptor, int errorDescriptor) {
    SpawnPlan plan;
    plan.setFiles(outputDescriptor, errorDescriptor);
    plan.setWorkingDirectory(options.workingDirectory);
    plan.isolate();
    std::vector<std::string> arguments = options.arguments;
    std::vector<std::string> environment = environmentWith(options.environment);
    ProcessObserver::instance().tell();
    // Read before the start. Afterwards it would be late by the time that this thread waits for a
    // processor.
    startTime_ = Clock::now();
    pid_t leader = 0;
    const int error = [&] {
      const ChildrensDataLimit limit;
      return plan.spawn(&leader, pointersTo(arguments).data(), pointersTo(environment).data());
    }();
    if (error != 0) return systemError("start " + arguments[0], error);
    pid_ = leader;
    pidfd_ = FileDescriptor(openPidfd(pid_));
    if (pidfd_.get() < 0) return systemError("watch " + arguments[0], errno);
    return Status::OK;
  }

  // Returns a descriptor that becomes readable when the child ends.
  int pidfd() const { return pidfd_.get(); }
  Clock::time_point startTime() const { return startTime_; }

  // Safe until the child is reaped, because the kernel does not reuse its number before.
  void killGroup() const {
    if (pid_ > 0) kill(-pid_, SIGKILL);
  }

  // Waits for the child, and returns how it ended.
  siginfo_t reap() {
    siginfo_t info = {};
    if (pid_ <= 0) return info;
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    pid_ = 0;
    return info;
  }

 private:
  pid_t pid_ = 0;
  FileDescriptor pidfd_;
  Clock::time_point startTime_;
};

// Passes the data that is available now to `consume(data, size)`, and closes the file at its end.
// Reads a bounded amount, so that a child that never stops writing cannot block the caller.
template <typename Consume>
void readAvailable(FileDescriptor* file, const Consume& consume) {
  constexpr int kMaxReads = 16;
  std::array<char, 65536> buffer;
  for (int i = 0; i < kMaxReads && file->get() >= 0; ++i) {
    const ssize_t count = read(file->get(), buffer.data(), buffer.size());
    if (count > 0) {
      consume(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0) {
      file->close();
    } else if (errno != EINTR) {
      return;
    }
  }
}

// Watches a child until it ends, and collects its output.
class Supervisor {
 public:
  Supervisor(const ProcessOptions& options, ProcessResult* result)
      : options_(options), result_(*result) {}

  Status run() {
    if (options_.captureOutput) RETURN_IF_ERROR(output_.open());
    RETURN_IF_ERROR(error_.open());
    RETURN_IF_ERROR(child_.start(options_, output_.writeEnd.get(), error_.writeEnd.get()));
    output_.writeEnd.close();
    error_.writeEnd.close();

    const std::optional<ProcessResult::End> killed = watch();
    child_.killGroup();
    readPipes();
    const siginfo_t info = child_.reap();
    result_.end = killed ? *killed
                         : (info.si_code == CLD_EXITED ? ProcessResult::End::kExited
                                                       : ProcessResult::End::kSignalled);
    result_.code = info.si_status;
    trimErrorTail(options_.errorTailBytes);
    return Status::OK;
  }

 private:
  // Returns nothing when the child has ended, or the reason to kill it.
  std::optional<ProcessResult::End> watch() {
    const Clock::time_point deadline = child_.startTime() + options_.timeout;
    while (true) {
      const Clock::time_point before = Clock::now();
      if (before >= deadline) return ProcessResult::End::kTimedOut;
      std::array<pollfd, 3> files = {{{child_.pidfd(), POLLIN, 0},
                                      {output_.readEnd.get(), POLLIN, 0},
                                      {error_.readEnd.get(), POLLIN, 0}}};
      const timespec wait = toTimespec(deadline - before);
      const int ready = ppoll(files.data(), files.size(), &wait, nullptr);
      const Clock::time_point after = Clock::now();
      if (ready <= 0) continue;
      readPipes();
      if (result_.output.size() > options_.maxOutputBytes) {
        return ProcessResult::End::kTooMuchOutput;
      }
      if (files[0].revents != 0) {
        result_.wallTime = after - child_.startTime();
        return std::nullopt;
      }
    }
  }

  static timespec toTimespec(Clock::duration duration) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
    return {static_cast<time_t>(seconds.count()),
            static_cast<long>(std::chrono::nanoseconds(duration - seconds).count())};
  }

  void readPipes() {
    readAvailable(&output_.readEnd,
                  [this](const char* data, size_t size) { result_.output.append(data, size); });
    readAvailable(&error_.readEnd, [this](const char* data, size_t size) {
      result_.errorTail.append(data, size);
      trimErrorTail(2 * options_.errorTailBytes);
    });
  }

  void trimErrorTail(size_t limit) {
    std::string& tail = result_.errorTail;
    if (tail.size() > limit) tail.erase(0, tail.size() - options_.errorTailBytes);
  }

  const ProcessOptions& options_;
  ProcessResult& result_;
  Pipe output_;
  Pipe error_;
  Child child_;
};

}  // namespace

Status runProcess(const ProcessOptions& options, ProcessResult* result) {
  *result = ProcessResult();
  return Supervisor(options, result).run();
}

void limitOwnData(uint64_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  if (!dataLimitOfChildren()) dataLimitOfChildren() = limit;
  // Leaves the hard limit, which could not be raised again for children.
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
}

void setProcessObserver(std::function<void()> beforeStart) {
  ProcessObserver::instance().set(std::move(beforeStart));
}

void tellProcessObserver() { ProcessObserver::instance().tell(); }

// The C library's own declaration (2.36) cannot be linked from C++.
int openPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace compiler_gym::util
