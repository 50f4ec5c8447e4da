#include "tests/util/RefusedForks.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <new>

namespace compiler_gym::util {

namespace {

using Count = std::atomic<int>;
static_assert(Count::is_always_lock_free);

struct Counts {
  Count allowed{0};
  Count refused{0};
};

// Mapped before main(), so that processes that are forked there share it.
Counts* const counts =
    new (mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
        Counts;

// Returns false if the count is 0.
bool decrement(Count& count) {
  int left = count;
  while (left > 0 && !count.compare_exchange_weak(left, left - 1)) {
  }
  return left > 0;
}

bool isRefused() {
  // Null during the initialisation of other objects.
  if (counts == nullptr || decrement(counts->allowed) || !decrement(counts->refused)) return false;
  errno = EAGAIN;
  return true;
}

// The function of the C library that one of this file hides.
template <typename Function>
Function* hidden(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

RefusedForks::RefusedForks(int count, int allowed) {
  counts->allowed = allowed;
  counts->refused = count;
}

RefusedForks::~RefusedForks() {
  counts->refused = 0;
  counts->allowed = 0;
}

int RefusedForks::left() const { return counts->refused; }

}  // namespace compiler_gym::util

// These two take the place of the C library's in the whole program.

extern "C" pid_t fork() noexcept {
  if (compiler_gym::util::isRefused()) return -1;
  return compiler_gym::util::hidden<pid_t()>("fork")();
}

// Session processes make their copies by a call of clone(2). Like the C library's function, which
// is written in assembly, this one reads more arguments than most callers pass, some from the
// stack.
extern "C" __attribute__((no_sanitize_address)) long syscall(long number, ...) noexcept {
  if (number == SYS_clone && compiler_gym::util::isRefused()) return -1;
  static auto* const call = compiler_gym::util::hidden<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
