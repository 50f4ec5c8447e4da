// Copies of sessions that were made before they were asked for.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/service/runtime/ToyServiceFixture.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;

class SpareWorkersTest : public IsolatedServiceTest {
 protected:
  // Forks until the service has made a copy ahead of time; there is one more process than sessions
  // and the pristine session.
  void forkUntilSpare(int64_t session) {
    forks_.push_back(client().fork(session).reply.session_id());
    forks_.push_back(client().fork(session).reply.session_id());
    EXPECT_TRUE(eventually([this] { return spareCount() == 1; }));
  }

  // The text of a new fork.
  std::string forkedText(int64_t session) {
    const auto answer = client().fork(session);
    EXPECT_THAT(answer.status, IsOk());
    forks_.push_back(answer.reply.session_id());
    return client().textOf(forks_.back());
  }

  // One session, which start() has not seen before, and its forks.
  int spareCount() const {
    return static_cast<int>(sessionProcesses().size()) - 2 - static_cast<int>(forks_.size());
  }

  std::vector<int64_t> forks_;
};

TEST_F(SpareWorkersTest, IsACopyOfItsOwn) {
  start();
  const int64_t session = client().startOn("abc");
  forkUntilSpare(session);
  ASSERT_TRUE(client().step(session, {"reverse"}).ok());
  ASSERT_TRUE(client().step(forks_[0], {"append-a"}).ok());
  forkUntilSpare(session);
  EXPECT_EQ(forkedText(session), "cba");
  ASSERT_TRUE(client().step(forks_.back(), {"append-a"}).ok());
  EXPECT_EQ(forkedText(session), "cba");
  EXPECT_EQ(client().textOf(session), "cba");
  EXPECT_EQ(client().textOf(forks_[1]), "abc");
}

TEST_F(SpareWorkersTest, OfAnEarlierStateIsNotUsed) {
  start();
  const int64_t session = client().startOn("abc");
  for (const char* expected : {"cba", "abc", "cba"}) {
    forkUntilSpare(session);
    ASSERT_TRUE(client().step(session, {"reverse"}).ok());
    EXPECT_EQ(forkedText(session), expected);
  }
}

TEST_F(SpareWorkersTest, OfEarlierParametersIsNotUsed) {
  start();
  const int64_t session = client().startOn("abc");
  forkUntilSpare(session);
  ASSERT_TRUE(client().send(session, {{"toy.set_sleep_milliseconds", "7"}}).ok());
  const int64_t fork = client().fork(session).reply.session_id();
  const auto answer = client().send(fork, {{"toy.get_sleep_milliseconds", ""}});
  ASSERT_THAT(answer.status, IsOk());
  EXPECT_EQ(answer.reply.reply(0), "7");
}

TEST_F(SpareWorkersTest, DeadOnesAreReplaced) {
  start();
  const int64_t session = client().startOn("abc");
  // The kernel may leave a process out of the list while another one ends.
  std::vector<pid_t> before;
  ASSERT_TRUE(eventually([&] { return (before = sessionProcesses()).size() == 2; }));
  forkUntilSpare(session);
  // Without the forks, the spare is the only process that was not there before.
  for (const int64_t fork : std::exchange(forks_, {})) EXPECT_TRUE(client().end(fork).ok());
  EXPECT_TRUE(eventually([this] { return spareCount() == 1; }));
  for (const pid_t pid : sessionProcesses()) {
    if (std::find(before.begin(), before.end(), pid) == before.end()) kill(pid, SIGKILL);
  }
  EXPECT_TRUE(eventually([this] { return spareCount() == 0; }));
  EXPECT_EQ(forkedText(session), "abc");
}

TEST_F(SpareWorkersTest, DoesNotOutliveItsSession) {
  start();
  const int64_t session = client().startOn("abc");
  forkUntilSpare(session);
  ASSERT_TRUE(client().end(session).ok());
  EXPECT_TRUE(eventually([this] { return spareCount() == -1; }));
}

TEST_F(SpareWorkersTest, DeadSessionsAreNotForked) {
  start({"--max_reproducers=0"});
  const int64_t session = client().startOn("abc");
  forkUntilSpare(session);
  EXPECT_EQ(client().step(session, {"crash"}).code(), StatusCode::ABORTED);
  EXPECT_EQ(client().fork(session).code(), StatusCode::ABORTED);
  EXPECT_EQ(client().textOf(forks_[0]), "abc");
}

TEST_F(SpareWorkersTest, OfABusySessionDelaysNoEndOfOthers) {
  start({"--spare_sessions=1", "--max_reproducers=0"});
  const int64_t busy = client().startOn("abc");
  forkUntilSpare(busy);
  const int64_t other = client().startOn("other");
  EXPECT_EQ(client().textOf(other), "other");
  const std::vector<pid_t> before = sessionProcesses();
  const int64_t ended = client().startOn("ended");
  EXPECT_EQ(client().textOf(ended), "ended");
  // A pristine session and its copy.
  std::vector<pid_t> started;
  for (const pid_t pid : sessionProcesses()) {
    if (std::count(before.begin(), before.end(), pid) == 0) started.push_back(pid);
  }
  std::thread hanging([&] { EXPECT_FALSE(client().step(busy, {"hang"}).ok()); });
  awaitAsleep();
  // The spare of this one is to take the place of that of the busy session.
  EXPECT_TRUE(client().fork(other).ok());
  EXPECT_TRUE(client().fork(other).ok());
  EXPECT_TRUE(client().end(ended).ok());
  EXPECT_TRUE(eventually([&] { return std::any_of(started.begin(), started.end(), isGone); }));
  EXPECT_TRUE(client().end(busy).ok());
  hanging.join();
}

TEST_F(SpareWorkersTest, TheirNumberIsLimited) {
  start({"--spare_sessions=2"});
  std::vector<int64_t> sessions;
  for (const char* text : {"a", "b", "c", "d"}) {
    sessions.push_back(client().startOn(text));
    // Its process is there when it has served a request.
    EXPECT_EQ(client().textOf(sessions.back()), text);
  }
  const size_t others = sessionProcesses().size();
  size_t forks = 0;
  for (int round = 0; round < 3; ++round) {
    for (const int64_t session : sessions) {
      EXPECT_TRUE(client().fork(session).ok());
      ++forks;
    }
  }
  EXPECT_TRUE(eventually([&] { return sessionProcesses().size() == others + forks + 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // A spare may be there a moment longer than the one that replaces it.
  EXPECT_TRUE(eventually([&] { return sessionProcesses().size() == others + forks + 2; }));
}

TEST_F(SpareWorkersTest, ZeroSparesMakesNone) {
  start({"--spare_sessions=0"});
  const int64_t session = client().startOn("abc");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(forkedText(session), "abc");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(spareCount(), 0);
}

}  // namespace
}  // namespace compiler_gym::runtime
