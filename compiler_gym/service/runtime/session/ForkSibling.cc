#include "compiler_gym/service/runtime/session/ForkSibling.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>

namespace compiler_gym::runtime {

namespace {

// Registrations of this thread that the C library made with the kernel. A new process lacks them.
struct ThreadRegistration {
  ThreadRegistration() {
    if (prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0) != 0) tid = nullptr;
    if (syscall(SYS_get_robust_list, 0, &robustList, &robustListSize) != 0) robustList = nullptr;
  }

  void renew() const {
    if (robustList != nullptr) syscall(SYS_set_robust_list, robustList, robustListSize);
  }

  // The address at which the C library keeps the thread's id.
  int* tid = nullptr;
  robust_list_head* robustList = nullptr;
  size_t robustListSize = 0;
};

#ifdef COMPILER_GYM_THREAD_SANITIZER
// It may have a thread of its own, which copies do without.
constexpr nlink_t kMaxOwnThreads = 2;
#else
constexpr nlink_t kMaxOwnThreads = 1;
#endif

pid_t cloneProcess(unsigned long flags, int* tid) {
#if defined(__x86_64__)
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, tid, nullptr));
#elif defined(__aarch64__)
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, tid));
#else
#error "The order of the arguments of clone(2) on this processor is not known here"
#endif
}

}  // namespace

pid_t forkSibling() {
  const ThreadRegistration thread;
  const unsigned long keepTid =
      thread.tid != nullptr ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0;
  const pid_t pid = cloneProcess(CLONE_PARENT | keepTid | SIGCHLD, thread.tid);
  if (pid == 0) thread.renew();
  return pid;
}

bool hasOneThread() {
  // Turns false with the first other thread, and does not turn back when that has ended.
  if (__libc_single_threaded) return true;
  // A directory for each thread, beside `.` and the link from the parent.
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink <= 2 + kMaxOwnThreads;
}

}  // namespace compiler_gym::runtime
