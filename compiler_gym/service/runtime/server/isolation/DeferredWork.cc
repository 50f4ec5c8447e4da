#include "compiler_gym/service/runtime/server/isolation/DeferredWork.h"

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

DeferredWork::DeferredWork() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  PCHECK(timer_.isOpen()) << "Cannot make a timer";
  thread_ = std::thread([this] { work(); });
}

DeferredWork::~DeferredWork() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
    wakeAt(Clock::now());
  }
  thread_.join();
}

void DeferredWork::add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.emplace_back(Clock::now() + kMoment, std::move(task));
  if (tasks_.size() == 1) wakeAt(tasks_.front().first);
}

void DeferredWork::wakeAt(Deadline time) const {
  const std::chrono::nanoseconds sinceStart = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(sinceStart);
  const itimerspec when = {{}, {seconds.count(), (sinceStart - seconds).count()}};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void DeferredWork::work() {
  while (true) {
    uint64_t expirations = 0;
    while (read(timer_.get(), &expirations, sizeof(expirations)) < 0 && errno == EINTR) {
    }
    std::unique_lock lock(mutex_);
    if (isStopping_) return;
    if (tasks_.empty()) continue;
    std::function<void()> task = std::move(tasks_.front().second);
    tasks_.pop_front();
    lock.unlock();
    const grpc::Status status = util::callWithoutExceptions("deferred work", [&task] {
      task();
      return grpc::Status::OK;
    });
    if (!status.ok()) LOG(ERROR) << status.error_message();
    // Also destroys the captures of the function without the lock.
    task = nullptr;
    lock.lock();
    if (!isStopping_ && !tasks_.empty()) wakeAt(tasks_.front().first);
  }
}

}  // namespace compiler_gym::runtime
