#include "compiler_gym/service/runtime/Chores.h"

#include <chrono>

namespace compiler_gym::runtime {

namespace {

// Longer than a reply takes, and than the request that most often follows.
constexpr std::chrono::milliseconds kMoment(1);

}  // namespace

Chores::Chores() : thread_([this] { work(); }) {}

Chores::~Chores() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Chores::add(std::function<void()> chore) {
  {
    const std::lock_guard lock(mutex_);
    chores_.emplace_back(Clock::now() + kMoment, std::move(chore));
  }
  changed_.notify_all();
}

void Chores::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return isStopping_ || !chores_.empty(); });
    if (changed_.wait_until(lock, isStopping_ ? Deadline() : chores_.front().first,
                            [this] { return isStopping_; })) {
      return;
    }
    std::function<void()> chore = std::move(chores_.front().second);
    chores_.pop_front();
    lock.unlock();
    chore();
    // What it holds is destroyed without the lock, too.
    chore = nullptr;
    lock.lock();
  }
}

}  // namespace compiler_gym::runtime
