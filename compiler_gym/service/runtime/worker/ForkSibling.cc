#include "compiler_gym/service/runtime/worker/ForkSibling.h"

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

// The registrations of this thread with the kernel, which the C library made. A new process lacks
// them.
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
// The sanitizer may have a thread of its own, which copies do not need.
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
  // The flag becomes false with the first further thread, and stays false after that thread's end.
  if (__libc_single_threaded) return true;
  // The directory has one link for each thread, one from its parent, and `.`.
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink <= 2 + kMaxOwnThreads;
}

}  // namespace compiler_gym::runtime
