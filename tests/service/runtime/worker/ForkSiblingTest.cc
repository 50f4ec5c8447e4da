// Tests of the C library's state in a process that was forked without its fork().
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/worker/ForkSibling.h"

namespace compiler_gym::runtime {
namespace {

// Lets a child of this process copy itself, and the copy do something. Returns how the copy ended:
// it is a child of this process, too.
int statusOfCopy(const std::function<int()>& work) {
  const pid_t original = fork();
  if (original == 0) {
    // Something for the allocator to have in use.
    const std::vector<std::unique_ptr<int>> blocks(1000);
    const pid_t copy = forkSibling();
    if (copy == 0) std::_Exit(work());
    std::_Exit(copy > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  EXPECT_EQ(waitpid(original, &status, 0), original);
  EXPECT_EQ(status, 0);
  EXPECT_GT(waitpid(-1, &status, 0), 0);
  return status;
}

void expectSucceeds(const std::function<bool()>& work) {
  const int status = statusOfCopy([&] { return work() ? EXIT_SUCCESS : EXIT_FAILURE; });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) << status;
}

// Where the C library notes the owner of a mutex, by the id that it has of the thread.
int ownerOf(const pthread_mutex_t& mutex) { return mutex.__data.__owner; }

pthread_mutex_t makeMutex(int type, int robust, int shared) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setrobust(&attributes, robust);
  pthread_mutexattr_setpshared(&attributes, shared);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  return mutex;
}

TEST(ForkSiblingTest, TheThreadHasItsOwnId) {
  expectSucceeds([] {
    pthread_mutex_t mutex =
        makeMutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
    pthread_mutex_lock(&mutex);
    return ownerOf(mutex) == gettid() && getpid() == gettid();
  });
}

TEST(ForkSiblingTest, RobustMutexesTellOfTheEndOfTheCopy) {
  void* const memory = mmap(nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const mutex = static_cast<pthread_mutex_t*>(memory);
  *mutex = makeMutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PROCESS_SHARED);
  expectSucceeds([mutex] { return pthread_mutex_lock(mutex) == 0; });
  EXPECT_EQ(pthread_mutex_trylock(mutex), EOWNERDEAD);
}

TEST(ForkSiblingTest, AbortIsAnAbort) {
  const int status = statusOfCopy([]() -> int { std::abort(); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST(ForkSiblingTest, ThreadsAndMemoryWork) {
  expectSucceeds([] {
    std::vector<std::unique_ptr<std::vector<char>>> blocks;
    std::thread thread([&blocks] {
      for (int i = 0; i < 1000; ++i) blocks.push_back(std::make_unique<std::vector<char>>(i));
    });
    thread.join();
    return blocks.size() == 1000;
  });
}

TEST(ForkSiblingTest, ThreadsAreCountedWhileTheyLive) {
  EXPECT_TRUE(hasOneThread());
  std::promise<void> end;
  std::thread thread([&end] { end.get_future().wait(); });
  EXPECT_FALSE(hasOneThread());
  end.set_value();
  thread.join();
  // The kernel may still be taking it down.
  for (int i = 0; i < 100'000 && !hasOneThread(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(hasOneThread());
}

TEST(ForkSiblingTest, CopiesCanBeCopied) {
  const int status = statusOfCopy([] {
    const pid_t pid = forkSibling();
    return pid < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
  });
  EXPECT_EQ(status, 0);
  int second = 1;
  EXPECT_GT(waitpid(-1, &second, 0), 0);
  EXPECT_EQ(second, 0);
}

}  // namespace
}  // namespace compiler_gym::runtime
