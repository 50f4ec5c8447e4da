// compiler_gym-confine: runs a program that may do nothing but compute and write to one folder.
//
//     compiler_gym-confine --folder=/tmp/empty --seconds=10 -- /usr/bin/env
//
// The exit status is that of the program. When it has ended or exceeds a limit, all processes that
// it has started are killed. The file --report=DESCRIPTOR receives lines: the means that are used,
// an error if the program could not be started, the limit that ended it, and its time.
//
// Three processes: this one, which callers may kill at any time; its child, the watcher, which is
// the first process of the program's process namespace, if there are namespaces; and its child,
// which becomes the program. The watcher ends when this process ends, and everything with it.
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "llvm_service/confine/Landlock.h"
#include "llvm_service/confine/Options.h"
#include "llvm_service/confine/Program.h"
#include "llvm_service/confine/Readable.h"
#include "llvm_service/confine/Seccomp.h"
#include "llvm_service/confine/Usage.h"
#include "llvm_service/confine/View.h"

namespace compiler_gym::confine {

namespace {

constexpr int kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP;

// The watcher's exit code if the system refuses the namespaces.
constexpr int kNoNamespaces = 125;
constexpr int kNotStarted = 127;

constexpr int kFirstWaitMilliseconds = 5;
constexpr int kLastWaitMilliseconds = 25;

double now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double secondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// The owner that files of the folder get.
unsigned ownerOfFiles = 0;
unsigned groupOfFiles = 0;

int changeOwner(const char* path, const struct stat*, int, FTW*) {
  return lchown(path, ownerOfFiles, groupOfFiles);
}

bool giveFolderTo(const char* folder, unsigned user, unsigned group) {
  ownerOfFiles = user;
  groupOfFiles = group;
  return nftw(folder, changeOwner, 16, FTW_PHYS | FTW_MOUNT) == 0;
}

// Returns whether a user exists in the namespace of this process.
bool isMapped(unsigned user) {
  FILE* file = fopen("/proc/self/uid_map", "re");
  if (file == nullptr) return false;
  bool isFound = false;
  unsigned first = 0;
  unsigned outer = 0;
  unsigned count = 0;
  while (fscanf(file, "%u %u %u", &first, &outer, &count) == 3) {
    isFound = isFound || (user >= first && user - first < count);
  }
  fclose(file);
  return isFound;
}

// Returns whether this process may give a process and files to another user. Root may not in some
// containers.
bool canChangeUser() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  constexpr uint32_t kNeeded = (1U << CAP_CHOWN) | (1U << CAP_SETGID) | (1U << CAP_SETUID);
  return (data[0].effective & kNeeded) == kNeeded;
}

// Returns a user that no other process has; 0 if there is none.
unsigned unusedUser() {
  if (!canChangeUser()) return 0;
  const auto process = static_cast<unsigned>(getpid());
  // Far from those that systems assign, and in the range of those that systemd assigns for a time.
  const unsigned candidates[] = {0x70000000 + process, 61184 + process % 4336};
  for (const unsigned each : candidates) {
    if (isMapped(each)) return each;
  }
  return 0;
}

// Changes the user for access(), which asks for the real one. glibc before 2.33 ignores AT_EACCESS.
bool becomeForNow(unsigned user) { return setresuid(user, user, 0) == 0; }
bool becomeRootAgain() { return setresuid(0, 0, 0) == 0; }

// Returns whether another user can reach the working directory by its path.
bool canReachFolder(const Options& options, unsigned user) {
  if (!becomeForNow(user)) return false;
  const bool isReached = access(options.folder.name, X_OK) == 0;
  return becomeRootAgain() && isReached;
}

// Returns whether another user can read what the program needs.
bool canRead(const Options& options, unsigned user) {
  if (!canReachFolder(options, user) || !becomeForNow(user)) return false;
  bool isReadable = options.isProbe || access(options.command[0], X_OK) == 0;
  for (int i = 0; i < options.readableCount; ++i) {
    isReadable = isReadable && access(options.readable[i].real, R_OK) == 0;
  }
  return becomeRootAgain() && isReadable;
}

// Returns whether each user namespace has a limit of processes of its own, as from Linux 5.14 on.
bool countsInNamespaces() {
  utsname name = {};
  int major = 0;
  int minor = 0;
  uname(&name);
  sscanf(name.release, "%d.%d", &major, &minor);
  return major > 5 || (major == 5 && minor >= 14);
}

bool writeFile(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool isWritten = write(file, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  close(file);
  return isWritten;
}

// Keeps the ids of the user and group in a new user namespace.
bool keepIds(unsigned user, unsigned group) {
  char users[64];
  char groups[64];
  snprintf(users, sizeof(users), "%u %u 1", user, user);
  snprintf(groups, sizeof(groups), "%u %u 1", group, group);
  return writeFile("/proc/self/setgroups", "deny") && writeFile("/proc/self/uid_map", users) &&
         writeFile("/proc/self/gid_map", groups);
}

// The process that starts the program, watches it, and leaves nothing behind.
class Watcher {
 public:
  // lifeline: a pipe whose other end the parent has.
  Watcher(const Options& options, const Means& means, unsigned group, int lifeline)
      : options_(options), means_(means), group_(group), lifeline_(lifeline) {}

  // Never returns.
  [[noreturn]] void run() {
    setsid();
    tieToParent();
    if (means_.namespaces) {
      enterNamespaces();
    } else {
      prctl(PR_SET_CHILD_SUBREAPER, 1);
      if (chdir(options_.folder.name) != 0) fail(options_.folder.name);
    }
    report(options_, "means %d %d %d %d", means_.namespaces, means_.landlock, means_.seccomp,
           means_.ownUser);
    start();
    watch();
    end();
  }

 private:
  void tieToParent() {
    prctl(PR_SET_PDEATHSIG, means_.namespaces ? SIGKILL : SIGTERM);
    // The parent may have ended before.
    pollfd file = {lifeline_, 0, 0};
    if (poll(&file, 1, 0) > 0) _exit(kNotStarted);
  }

  void enterNamespaces() {
    // In the parent's /proc, this process has another number. "self" is right in any.
    if (!means_.ownUser) {
      // Otherwise the files of this process in /proc belong to root.
      prctl(PR_SET_DUMPABLE, 1);
      if (!keepIds(means_.user, group_)) refuse("the ids of the user");
      prctl(PR_SET_DUMPABLE, 0);
    }
    if (const char* step = enterView(options_)) refuse(step);
  }

  [[noreturn]] void refuse(const char* step) {
    report(options_, "refused %d %s", errno, step);
    _exit(kNoNamespaces);
  }

  [[noreturn]] void fail(const char* step) {
    report(options_, "error %d %s", errno, step);
    _exit(kNotStarted);
  }

  void start() {
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    begin_ = now();
    // A process that hides its open files has too many, see Usage.h.
    prctl(PR_SET_DUMPABLE, 1);
    program_ = fork();
    if (program_ == 0) becomeProgram(options_, means_);
    prctl(PR_SET_DUMPABLE, 0);
    if (program_ < 0) fail("start a process");
  }

  // Returns at the end of the program, or at a limit.
  void watch() {
    // Processes that end at once need no look at what they use.
    int wait = kFirstWaitMilliseconds;
    while (!hasEnded()) {
      const double left = options_.seconds - (now() - begin_);
      if (left <= 0) {
        limit_ = "time";
        return;
      }
      pollfd file = {signals_, POLLIN, 0};
      if (poll(&file, 1, std::min(wait, static_cast<int>(left * 1000) + 1)) > 0) {
        if (isToldToEnd()) return;
        continue;
      }
      const double before = now();
      if (isOverLimit()) return;
      // Looking takes up to a tenth of the time.
      const int pause = static_cast<int>((now() - before) * 10000);
      wait = std::max(std::min(2 * wait, kLastWaitMilliseconds), pause);
    }
  }

  bool isToldToEnd() {
    signalfd_siginfo info = {};
    bool isTold = false;
    while (read(signals_, &info, sizeof(info)) > 0) {
      isTold = isTold || info.ssi_signo == SIGTERM;
    }
    if (isTold) limit_ = "killed";
    return isTold;
  }

  bool isOverLimit() {
    const Usage usage = usageOfDescendants(options_.memoryBytes, !means_.ownUser);
    if (usage.memoryBytes > options_.memoryBytes) {
      limit_ = "memory";
    } else if (usage.threads > options_.processes) {
      limit_ = "processes";  // The kernel does not limit those of root.
    } else if (usage.namelessBytes + sizeOfFolder(options_.folder.real, options_.diskBytes) >
               options_.diskBytes) {
      limit_ = "disk";
    }
    return limit_ != nullptr;
  }

  // Collects the processes that have ended, and returns whether the program is one of them.
  bool hasEnded() {
    while (true) {
      int status = 0;
      rusage usage = {};
      const pid_t ended = wait4(-1, &status, WNOHANG, &usage);
      if (ended <= 0) return isOver_;
      if (ended == program_) {
        seconds_ = now() - begin_;
        status_ = status;
        cpuSeconds_ = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
        isOver_ = true;
      }
    }
  }

  [[noreturn]] void end() {
    if (!isOver_) {
      seconds_ = now() - begin_;
      status_ = SIGKILL;
    }
    // At the end of the first process of a namespace, the kernel kills all others.
    if (!means_.namespaces) killAll();
    if (limit_ != nullptr) report(options_, "limit %s", limit_);
    report(options_, "seconds %.9f %.6f", seconds_, cpuSeconds_);
    if (WIFEXITED(status_)) _exit(WEXITSTATUS(status_));
    // The parent tells the caller the signal: the first process of a namespace cannot end by one.
    report(options_, "signal %d", WTERMSIG(status_));
    _exit(128 + WTERMSIG(status_));
  }

  void killAll() {
    do {
      if (means_.ownUser) {
        killUser();
      } else {
        killChildren();
      }
    } while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
  }

  // Kills all processes of the user at once, so that none can start another one in time.
  void killUser() const {
    const pid_t killer = fork();
    if (killer == 0) {
      if (setresuid(means_.user, means_.user, means_.user) == 0) kill(-1, SIGKILL);
      _exit(0);
    }
    if (killer > 0) waitpid(killer, nullptr, 0);
  }

  const Options& options_;
  const Means& means_;
  const unsigned group_;
  const int lifeline_;
  pid_t program_ = 0;
  int signals_ = -1;
  double begin_ = 0;
  double seconds_ = 0;
  double cpuSeconds_ = 0;
  const char* limit_ = nullptr;
  int status_ = 0;
  bool isOver_ = false;
};

// Runs a watcher. Returns its wait status, or -1 if there can be none.
int runWatcher(const Options& options, const Means& means) {
  const unsigned group = getegid();
  int lifeline[2];
  if (pipe2(lifeline, O_CLOEXEC) != 0) return -1;
  unsigned long flags = SIGCHLD;
  if (means.namespaces) flags |= kNamespaces;
  if (means.namespaces && !means.ownUser) flags |= CLONE_NEWUSER;
#if defined(__s390__)
#error "the arguments of clone(2) have another order on this machine"
#endif
  const auto watcher = static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0));
  if (watcher == 0) {
    close(lifeline[1]);
    Watcher(options, means, group, lifeline[0]).run();
  }
  close(lifeline[0]);
  if (watcher < 0) {
    report(options, "refused %d clone", errno);
    close(lifeline[1]);
    return -1;
  }
  int status = 0;
  while (waitpid(watcher, &status, 0) < 0 && errno == EINTR) {
  }
  close(lifeline[1]);
  return status;
}

bool wereRefused(int status) {
  return status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespaces);
}

// Returns the means for a run without namespaces.
Means meansWithoutNamespaces(const Options& options, Means means) {
  means.namespaces = false;
  means.landlock = options.landlock ? landlockVersion() : 0;
  // Without rights, root can still read its own files: those that Landlock allows.
  if (means.ownUser && means.landlock != 0 && !canRead(options, means.user)) {
    means.ownUser = false;
    means.user = geteuid();
  }
  means.countsOwnProcesses = means.ownUser;
  return means;
}

Means firstMeans(const Options& options) {
  Means means;
  means.namespaces = options.namespaces;
  means.seccomp = hasSeccomp();
  means.user = geteuid();
  const unsigned unused = means.user == 0 ? unusedUser() : 0;
  if (unused != 0) {
    means.user = unused;
    means.ownUser = true;
  }
  means.countsOwnProcesses = means.ownUser || countsInNamespaces();
  return means;
}

int giveUp(const Options& options, const char* step) {
  report(options, "error %d %s", errno, step);
  return kNotStarted;
}

// Replaces the standard input by a copy, if it is a file. The program could open the file itself by
// its name in /proc, to write to it.
bool protectInput() {
  struct stat status{};
  if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return true;
  const int copy = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (copy < 0) return false;
  off_t position = lseek(STDIN_FILENO, 0, SEEK_CUR);
  constexpr size_t kMostBytes = size_t{1} << 30;
  ssize_t size = 0;
  do {
    size = sendfile(copy, STDIN_FILENO, &position, kMostBytes);
  } while (size > 0);
  const bool isCopied =
      size == 0 && lseek(copy, 0, SEEK_SET) == 0 &&
      fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0 &&
      dup2(copy, STDIN_FILENO) == STDIN_FILENO;
  close(copy);
  return isCopied;
}

// Lets other users open the standard files by their names, such as /dev/stderr, if they are pipes.
// Only processes that have a pipe see its name.
void openPipesToAll() {
  constexpr long kPipes = 0x50495045;  // Pipes in the file system have another number.
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct statfs status{};
    if (fstatfs(file, &status) == 0 && status.f_type == kPipes) fchmod(file, 0666);
  }
}

// Returns the exit code of the program.
int confine(const Options& options) {
  struct stat folder{};
  if (stat(options.folder.real, &folder) != 0) return giveUp(options, options.folder.real);
  if (!options.isProbe && !protectInput()) return giveUp(options, "copy the input");
  Means means = firstMeans(options);
  const bool isGiven = means.ownUser;
  if (isGiven && !giveFolderTo(options.folder.real, means.user, means.user)) {
    return giveUp(options, options.folder.real);
  }
  if (means.ownUser) openPipesToAll();
  int status = means.namespaces ? runWatcher(options, means) : -1;
  if (wereRefused(status)) {
    means = meansWithoutNamespaces(options, means);
    if (isGiven && !means.ownUser) giveFolderTo(options.folder.real, folder.st_uid, folder.st_gid);
    const bool isReached = !means.ownUser || canReachFolder(options, means.user);
    if (!isReached) {
      errno = EACCES;
      giveUp(options,
             "reach the working directory as a user of its own, without namespaces and Landlock");
    }
    status = isReached ? runWatcher(options, means) : kNotStarted << 8;
  }
  if (isGiven) giveFolderTo(options.folder.real, folder.st_uid, folder.st_gid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + SIGKILL;
}

void closeOtherFiles(int kept) {
  const auto file = static_cast<unsigned>(std::max(kept, 2));
  if (file > 3) syscall(SYS_close_range, 3U, file - 1, 0U);
  syscall(SYS_close_range, file + 1, ~0U, 0U);
  if (kept > 2) fcntl(kept, F_SETFD, FD_CLOEXEC);
}

}  // namespace

}  // namespace compiler_gym::confine

int main(int argc, char** argv) {
  using namespace compiler_gym::confine;
  Options options;
  if (!parseOptions(argc, argv, &options)) return 2;
  if (options.isHelp) {
    printHelp();
    return 0;
  }
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_DUMPABLE, 0);
  closeOtherFiles(options.report);
  if (!resolvePaths(&options)) return giveUp(options, options.folder.name);
  return confine(options);
}
