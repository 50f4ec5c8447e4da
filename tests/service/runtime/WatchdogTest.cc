// Tests of the watchdog inside session processes. Each test has a child process ended.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/worker/Watchdog.h"

namespace compiler_gym::runtime {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kNoLimit = 0;
constexpr int kDone = 17;

[[noreturn]] void loop() {
  for (volatile bool isTrue = true; isTrue;) {
#ifdef COMPILER_GYM_SANITIZER
    // ThreadSanitizer holds signals back until the program calls the system.
    usleep(0);
#endif
  }
  std::_Exit(EXIT_FAILURE);
}

class WatchdogTest : public ::testing::Test {
 protected:
  WatchdogTest() {
    EXPECT_TRUE(WorkerRecord::create(&record_).ok());
    EXPECT_TRUE(Channel::pair(&ours_, &theirs_).ok());
  }

  // Starts a child that does something under a watchdog.
  void start(uint64_t memoryBytes, const std::function<void(Watchdog&)>& work) {
    child_ = fork();
    if (child_ != 0) {
      theirs_.close();
      return;
    }
    ours_.close();
    std::unique_ptr<WorkerRecord> record;
    if (!WorkerRecord::open(util::FileDescriptor(dup(record_->memory())), &record).ok()) {
      std::_Exit(EXIT_FAILURE);
    }
    Watchdog watchdog(memoryBytes);
    watchdog.watch(record.get(), theirs_.get(), -1);
    work(watchdog);
    std::_Exit(kDone);
  }

  int waitForEnd() const {
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    return status;
  }

  void expectKilled(EndReason reason, uint64_t limit) const {
    const int status = waitForEnd();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    EXPECT_EQ(record_->endReason(), reason);
    EXPECT_EQ(record_->limit(), limit);
  }

  void expectDone() const {
    const int status = waitForEnd();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kDone) << status;
    EXPECT_EQ(record_->endReason(), EndReason::kNone);
  }

  std::unique_ptr<WorkerRecord> record_;
  util::FileDescriptor ours_;
  util::FileDescriptor theirs_;
  pid_t child_ = 0;
};

// Longer than it takes until the watchdog looks after the peer for the first time.
TEST_F(WatchdogTest, DeadlineAfterOtherLooks) {
  start(kNoLimit, [](Watchdog& watchdog) {
    watchdog.arm(milliseconds(600));
    loop();
  });
  expectKilled(EndReason::kDeadline, 600'000);
}

TEST_F(WatchdogTest, RequestInTime) {
  start(kNoLimit, [](Watchdog& watchdog) {
    for (int i = 0; i < 2; ++i) {
      watchdog.arm(milliseconds(600));
      watchdog.disarm();
      std::this_thread::sleep_for(milliseconds(610));
    }
  });
  expectDone();
}

// As if it came at the very moment at which the request is done.
TEST_F(WatchdogTest, SignalAfterTheRequestIsIgnored) {
  start(kNoLimit, [](Watchdog& watchdog) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, nullptr);
    watchdog.arm(milliseconds(5));
    std::this_thread::sleep_for(milliseconds(20));
    watchdog.disarm();
    sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
    std::this_thread::sleep_for(milliseconds(300));
  });
  expectDone();
}

TEST_F(WatchdogTest, ZeroIsNoLimit) {
  start(kNoLimit, [](Watchdog& watchdog) {
    watchdog.arm(milliseconds(0));
    std::this_thread::sleep_for(milliseconds(600));
    watchdog.disarm();
  });
  expectDone();
}

}  // namespace
}  // namespace compiler_gym::runtime
