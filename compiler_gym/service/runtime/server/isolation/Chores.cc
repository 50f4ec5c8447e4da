#include "compiler_gym/service/runtime/server/isolation/Chores.h"

#include <glog/logging.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

namespace {

// Longer than a reply and the most common next request.
constexpr std::chrono::milliseconds kMoment(1);

}  // namespace

Chores::Chores() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  PCHECK(timer_.isOpen()) << "Cannot make a timer";
  thread_ = std::thread([this] { work(); });
}

Chores::~Chores() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
    wakeAt(Clock::now());
  }
  thread_.join();
}

void Chores::add(std::function<void()> chore) {
  const std::lock_guard lock(mutex_);
  chores_.emplace_back(Clock::now() + kMoment, std::move(chore));
  if (chores_.size() == 1) wakeAt(chores_.front().first);
}

void Chores::wakeAt(Deadline time) const {
  const std::chrono::nanoseconds sinceStart = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(sinceStart);
  const itimerspec when = {{}, {seconds.count(), (sinceStart - seconds).count()}};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Chores::work() {
  while (true) {
    uint64_t expirations = 0;
    while (read(timer_.get(), &expirations, sizeof(expirations)) < 0 && errno == EINTR) {
    }
    std::unique_lock lock(mutex_);
    if (isStopping_) return;
    if (chores_.empty()) continue;
    std::function<void()> chore = std::move(chores_.front().second);
    chores_.pop_front();
    lock.unlock();
    const grpc::Status status = util::callWithoutExceptions("a chore", [&chore] {
      chore();
      return grpc::Status::OK;
    });
    if (!status.ok()) LOG(ERROR) << status.error_message();
    // Also destroys the captures of the function without the lock.
    chore = nullptr;
    lock.lock();
    if (!isStopping_ && !chores_.empty()) wakeAt(chores_.front().first);
  }
}

}  // namespace compiler_gym::runtime
