#include "compiler_gym/service/runtime/worker/Watchdog.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <new>

#include "compiler_gym/util/Process.h"

namespace compiler_gym::runtime {

using std::chrono::microseconds;

namespace {

// Sanitizers reserve more memory than any sensible limit.
#ifdef COMPILER_GYM_SANITIZER
constexpr bool kCanLimitMemory = false;
#else
constexpr bool kCanLimitMemory = true;
#endif

// Interval of checks whether a client still waits for the request.
constexpr microseconds kLookInterval(250'000);

// State that the signal handlers use.
std::atomic<Watchdog*>& watchdogOfProcess() {
  static std::atomic<Watchdog*> watchdog = nullptr;
  return watchdog;
}

void setTimer(microseconds wait) {
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(wait.count() / 1'000'000);
  timer.it_value.tv_usec = static_cast<suseconds_t>(wait.count() % 1'000'000);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool isClosed(int socket) {
  pollfd file = {socket, POLLRDHUP, 0};
  return socket >= 0 && poll(&file, 1, 0) > 0;
}

}  // namespace

Watchdog::Watchdog(uint64_t memoryBytes) : memoryBytes_(memoryBytes) {
  watchdogOfProcess() = this;
  struct sigaction action = {};
  action.sa_handler = onTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  if (kCanLimitMemory && memoryBytes > 0) {
    util::limitOwnData(memoryBytes);
    std::set_new_handler(onOutOfMemory);
  }
}

Watchdog::~Watchdog() { watchdogOfProcess() = nullptr; }

void Watchdog::watch(WorkerRecord* record, int controlSocket, int directSocket) {
  record_ = record;
  controlSocket_ = controlSocket;
  directSocket_ = directSocket;
  timerEnd_ = Deadline::max();
}

void Watchdog::arm(microseconds timeout) {
  timeout_ = timeout;
  deadline_ = timeout.count() > 0 ? Clock::now() + timeout : Deadline::max();
  // The signal can arrive at any time, and reads the members above once it is armed.
  std::atomic_signal_fence(std::memory_order_release);
  isArmed_ = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (timerEnd_.load() > deadline_ || timerEnd_.load() == Deadline::max()) schedule();
}

void Watchdog::disarm() {
  isArmed_ = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void Watchdog::schedule() {
  const Deadline now = Clock::now();
  const auto left = std::chrono::ceil<microseconds>(deadline_ - now);
  const microseconds wait = std::clamp(left, microseconds(1), kLookInterval);
  timerEnd_ = now + wait;
  setTimer(wait);
}

void Watchdog::onTimer(int /*signal*/) {
  const int savedErrno = errno;
  if (Watchdog* const watchdog = watchdogOfProcess()) watchdog->look();
  errno = savedErrno;
}

void Watchdog::look() {
  timerEnd_ = Deadline::max();
  if (!isArmed_) return;
  std::atomic_signal_fence(std::memory_order_acquire);
  if (Clock::now() >= deadline_) {
    endProcess(EndReason::kDeadline, static_cast<uint64_t>(timeout_.count()));
  }
  if (isClosed(controlSocket_) || isClosed(directSocket_)) endProcess(EndReason::kClientGone, 0);
  schedule();
}

void Watchdog::onOutOfMemory() {
  Watchdog* const watchdog = watchdogOfProcess();
  watchdog->endProcess(EndReason::kMemory, watchdog->memoryBytes_);
}

void Watchdog::endProcess(EndReason reason, uint64_t limit) {
  record_->setEndReason(reason, limit);
  // Releasing the memory may take long. Clients need not wait for it.
  shutdown(directSocket_, SHUT_RDWR);
  shutdown(controlSocket_, SHUT_RDWR);
  // exit() is unsafe, since the compiler may be in the middle of any operation.
  kill(getpid(), SIGKILL);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace compiler_gym::runtime
