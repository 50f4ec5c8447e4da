#include "llvm_service/confine/Program.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "llvm_service/confine/Landlock.h"
#include "llvm_service/confine/Seccomp.h"
#include "llvm_service/confine/Usage.h"

namespace compiler_gym::confine {

namespace {

constexpr int kNotStarted = 127;

[[noreturn]] void giveUp(const Options& options, const char* step) {
  report(options, "error %d %s", errno, step);
  _exit(kNotStarted);
}

bool setLimit(__rlimit_resource kind, uint64_t value) {
  rlimit limit = {};
  getrlimit(kind, &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(kind, &limit) == 0;
}

// SIGXCPU first, which tells the reason, then SIGKILL.
bool setProcessorTime(uint64_t seconds) {
  const rlimit limit = {seconds, seconds + 1};
  return setrlimit(RLIMIT_CPU, &limit) == 0 || setLimit(RLIMIT_CPU, seconds);
}

bool setLimits(const Options& options, const Means& means) {
  const uint64_t others = means.countsOwnProcesses ? 0 : threadsOfUser(means.user);
  // Only a second barrier: what is used counts, see Usage.h.
  const uint64_t addresses = 2 * options.memoryBytes + (uint64_t{1} << 30);
  return setLimit(RLIMIT_CORE, 0) && setLimit(RLIMIT_FSIZE, options.fileBytes) &&
         setLimit(RLIMIT_NOFILE, options.files) &&
         setLimit(RLIMIT_NPROC, options.processes + others) &&
         (!options.limitAddresses || setLimit(RLIMIT_AS, addresses)) &&
         (options.cpuSeconds == 0 || setProcessorTime(options.cpuSeconds)) &&
         setLimit(RLIMIT_MSGQUEUE, 0);
}

bool dropRights(const Means& means) {
  if (means.ownUser &&
      (setgroups(0, nullptr) != 0 || setresgid(means.user, means.user, means.user) != 0 ||
       setresuid(means.user, means.user, means.user) != 0)) {
    return false;
  }
  for (unsigned long each = 0; prctl(PR_CAPBSET_READ, each) >= 0; ++each) {
    prctl(PR_CAPBSET_DROP, each);  // Fails where there are none to drop.
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void resetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
}

}  // namespace

void report(const Options& options, const char* format, ...) {
  if (options.report < 0) return;
  va_list arguments;
  va_start(arguments, format);
  char line[512];
  int size = vsnprintf(line, sizeof(line) - 1, format, arguments);
  va_end(arguments);
  size = std::min<int>(size, sizeof(line) - 2);
  line[size++] = '\n';
  if (write(options.report, line, static_cast<size_t>(size)) < 0) return;  // Nobody listens.
}

void becomeProgram(const Options& options, const Means& means) {
  if (!setLimits(options, means)) giveUp(options, "set the limits");
  if (!dropRights(means)) giveUp(options, "give up rights");
  // After the change of the user, which resets this.
  prctl(PR_SET_DUMPABLE, 1);
  if (means.landlock != 0 && !installLandlock(options, means.landlock)) {
    giveUp(options, "restrict the files");
  }
  const bool isShared = !means.namespaces && !means.ownUser;
  if (means.seccomp && !installSeccomp(options.network, isShared)) {
    giveUp(options, "restrict the system calls");
  }
  if (options.isProbe) _exit(0);
  resetSignals();
  execv(options.command[0], options.command);
  giveUp(options, options.command[0]);
}

}  // namespace compiler_gym::confine
