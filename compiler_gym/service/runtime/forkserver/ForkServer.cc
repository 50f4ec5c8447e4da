#include "compiler_gym/service/runtime/forkserver/ForkServer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/filesystem.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/forkserver/CompilerDescription.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"
#include "compiler_gym/service/runtime/worker/WorkerLoop.h"
#include "compiler_gym/util/FolderRemoval.h"
#include "compiler_gym/util/LargePages.h"

namespace compiler_gym::runtime {

using util::FileDescriptor;

namespace {

constexpr std::chrono::seconds kSendTimeout(10);
// Time limit for killing the remaining processes after the service has ended.
constexpr std::chrono::milliseconds kClearTimeout(900);

// AddressSanitizer refuses to copy what it puts between constants.
#ifdef COMPILER_GYM_SANITIZER
constexpr bool kCanMove = false;
#else
constexpr bool kCanMove = true;
#endif

std::vector<pid_t> children() {
  const std::string self = std::to_string(getpid());
  std::ifstream file("/proc/self/task/" + self + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid; file >> pid;) pids.push_back(pid);
  return pids;
}

class ForkServer {
 public:
  ForkServer(const SessionFactory& makeSession, const boost::filesystem::path& workingDirectory,
             const Limits& limits, Channel service)
      : makeSession_(makeSession),
        workingDirectory_(workingDirectory),
        limits_(limits),
        service_(std::move(service)) {
    // Leaves signals of the terminal to the service, which tells this process when to end.
    setsid();
    // Compilers may leave files in the current and temporary directories. The service deletes both
    // at its end.
    if (chdir(workingDirectory_.c_str()) != 0) std::_Exit(EXIT_FAILURE);
    setenv("TMPDIR", workingDirectory_.c_str(), /*overwrite=*/1);
    // Orphaned children of workers become children of this one.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t childEnded;
    sigemptyset(&childEnded);
    sigaddset(&childEnded, SIGCHLD);
    sigprocmask(SIG_BLOCK, &childEnded, nullptr);
    childEnded_ = FileDescriptor(signalfd(-1, &childEnded, SFD_CLOEXEC | SFD_NONBLOCK));
    std::array<int, 2> notices;
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, notices.data()) != 0) {
      std::_Exit(EXIT_FAILURE);
    }
    notices_ = FileDescriptor(notices[0]);
    noticesOfSessions_ = FileDescriptor(notices[1]);
  }

  // Returns false if the compiler cannot start sessions.
  bool describe() {
    return sendDescription(makeSession_, workingDirectory_, service_, &description_);
  }

  // Serves requests. Returns true if the service has told this process to end.
  bool serve() {
    while (true) {
      std::array<pollfd, 3> files = {{{service_.socket().get(), POLLIN, 0},
                                      {childEnded_.get(), POLLIN, 0},
                                      {notices_.get(), POLLIN, 0}}};
      if (poll(files.data(), files.size(), -1) < 0) continue;
      if (files[2].revents != 0) readNotices();
      if (files[1].revents != 0) {
        reap(/*isReported=*/true);
        moveIfWorthwhile();
      }
      if (files[0].revents == 0) continue;
      Frame frame;
      if (!service_.receive(&frame, Clock::now() + kSendTimeout).ok()) return false;
      if (frame.method() == Method::kQuit) return true;
      if (frame.method() == Method::kSpawn && frame.descriptors.size() == 2) spawn(frame);
    }
  }

  void killAll() {
    const Deadline deadline = Clock::now() + kClearTimeout;
    while (Clock::now() < deadline) {
      const std::vector<pid_t> pids = children();
      if (pids.empty()) return;
      for (const pid_t pid : pids) killProcess(pid);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      reap(/*isReported=*/false);
    }
  }

 private:
  void spawn(Frame& frame) {
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) becomeWorker(frame, parent);
    // The service notices the failure by the closed socket.
    if (pid < 0) tellOfFailure(frame, errno);
  }

  static void tellOfFailure(Frame& frame, int error) {
    std::unique_ptr<WorkerRecord> record;
    if (!WorkerRecord::open(std::move(frame.descriptors[1]), &record).ok()) return;
    record->setEndReason(EndReason::kNotForked, static_cast<uint64_t>(error));
  }

  [[noreturn]] void becomeWorker(Frame& frame, pid_t parent) {
    service_.close();
    childEnded_.close();
    notices_.close();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    std::unique_ptr<WorkerRecord> record;
    if (!WorkerRecord::open(std::move(frame.descriptors[1]), &record).ok()) {
      std::_Exit(EXIT_FAILURE);
    }
    WorkerLoop loop(description_, makeSession_(workingDirectory_), limits_,
                    std::move(frame.descriptors[0]), std::move(record), parent,
                    noticesOfSessions_.get());
    loop.run();
    // Nothing else in this process needs to be closed.
    std::_Exit(EXIT_SUCCESS);
  }

  // Kills a process, with its group if it is a command. Commands lead process groups of their own;
  // workers are in the group of this process.
  static void killProcess(pid_t pid) {
    const pid_t group = getpgid(pid);
    kill(group > 0 && group != getpgrp() ? -group : pid, SIGKILL);
  }

  // Reads which workers have run commands.
  void readNotices() {
    int32_t pid = 0;
    while (recv(notices_.get(), &pid, sizeof(pid), MSG_DONTWAIT) == sizeof(pid)) {
      commandRunners_.insert(pid);
    }
  }

  // Kills commands that have outlived their session. It inspects all children, so it runs only
  // after the end of a session that has run commands.
  static void killLeftCommands() {
    for (const pid_t pid : children()) {
      if (const pid_t group = getpgid(pid); group > 0 && group != getpgrp()) kill(-group, SIGKILL);
    }
  }

  void reap(bool isReported) {
    signalfd_siginfo ignored;
    while (read(childEnded_.get(), &ignored, sizeof(ignored)) > 0) {
    }
    // A process sends its notice before its first command, and thus before its end.
    readNotices();
    std::vector<pid_t> runners;
    // Processes that may have left files: destructors remove them, and commands make most.
    std::vector<pid_t> untidy;
    Death death = {};
    rusage usage = {};
    while ((death.pid = wait4(-1, &death.status, WNOHANG, &usage)) > 0) {
      const bool isRunner = commandRunners_.erase(death.pid) > 0;
      if (isRunner) runners.push_back(death.pid);
      // At the end, the service removes the whole directory.
      if (isReported && (isRunner || death.status != 0)) untidy.push_back(death.pid);
      death.peakKibibytes = usage.ru_maxrss;
      if (isReported) report(death);
      ++ended_;
    }
    if (!runners.empty()) killLeftCommands();
    removeFilesOf(untidy);
  }

  // Removes the files of ended processes, see CompilationSession. A command that is being killed
  // can still create a file, so this is called again after its end.
  void removeFilesOf(const std::vector<pid_t>& ended) {
    std::vector<pid_t> owners = std::exchange(incompletelyRemoved_, {});
    owners.insert(owners.end(), ended.begin(), ended.end());
    if (owners.empty()) return;
    boost::system::error_code problem;
    boost::filesystem::directory_iterator entry(workingDirectory_, problem);
    for (; !problem && entry != boost::filesystem::directory_iterator(); entry.increment(problem)) {
      const std::string suffix = entry->path().extension().string();
      const auto owner = std::find_if(owners.begin(), owners.end(), [&](pid_t pid) {
        return suffix == "." + std::to_string(pid);
      });
      if (owner == owners.end()) continue;
      if (!util::removeFolder(entry->path())) incompletelyRemoved_.push_back(*owner);
    }
  }

  // Workers begin without the pages of their program's file, and get them by page faults. The move
  // takes as long as it saves in some hundred short sessions. A service that has had so many will
  // probably have as many again.
  void moveIfWorthwhile() {
    const int least = limits_.sessionsBeforeLargePages;
    if (!kCanMove || hasMoved_ || least == 0 || ended_ < least) return;
    hasMoved_ = true;
    if (!util::moveToLargePages()) return;
    service_.send(static_cast<uint16_t>(Method::kMoved), "", Clock::now() + kSendTimeout);
  }

  void report(const Death& death) {
    std::string payload(sizeof(death), '\0');
    std::memcpy(payload.data(), &death, sizeof(death));
    service_.send(static_cast<uint16_t>(Method::kDied), payload, Clock::now() + kSendTimeout);
  }

  const SessionFactory& makeSession_;
  const boost::filesystem::path& workingDirectory_;
  const Limits& limits_;
  Channel service_;
  FileDescriptor childEnded_;
  FileDescriptor notices_;
  FileDescriptor noticesOfSessions_;
  std::unordered_set<pid_t> commandRunners_;
  std::vector<pid_t> incompletelyRemoved_;
  int ended_ = 0;
  bool hasMoved_ = false;
  ServiceDescription description_;
};

}  // namespace

void runForkServer(const SessionFactory& makeSession,
                   const boost::filesystem::path& workingDirectory, const Limits& limits,
                   const std::function<void()>& removeDirectory, Channel service) {
  ForkServer process(makeSession, workingDirectory, limits, std::move(service));
  if (!process.describe()) std::_Exit(EXIT_FAILURE);
  const bool isOrderly = process.serve();
  process.killAll();
  if (!isOrderly) removeDirectory();
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace compiler_gym::runtime
