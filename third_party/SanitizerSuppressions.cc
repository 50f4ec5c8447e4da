// Reports that sanitizers suppress in programs that use gRPC. Their run-time libraries call these
// functions.
//
// gRPC's resolver of names keeps what it has read of the machine's configuration.
//
// For the thread sanitizer: gRPC and Abseil come compiled without the sanitizer, which therefore
// misses how they synchronise. This hides everything that happens below a request of a gRPC server;
// ConcurrencyTest calls the service directly for that reason.

#ifdef COMPILER_GYM_SANITIZER

#include <pthread.h>

#include <cerrno>
#include <ctime>

extern "C" const char* __lsan_default_suppressions() { return "leak:ares_strdup\n"; }

extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

extern "C" const char* __tsan_default_suppressions() {
  return "race:grpc_core::\n"
         "race:grpc::\n"
         "race:absl::\n"
         "race:^grpc_\n"
         "race:^gpr_\n";
}

// std::timed_mutex calls it for a deadline of the steady clock. The sanitizer of GCC 12 does not
// know the function, and so would take the mutex for unlocked. It knows those that this one calls.
extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* deadline) noexcept {
  while (pthread_mutex_trylock(mutex) != 0) {
    timespec now = {};
    clock_gettime(clock, &now);
    if (now.tv_sec > deadline->tv_sec ||
        (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec)) {
      return ETIMEDOUT;
    }
    const timespec pause = {0, 100'000};
    nanosleep(&pause, nullptr);
  }
  return 0;
}

#endif
