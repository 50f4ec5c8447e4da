// Tests of pristine sessions: one for each program, of which the sessions of clients are copies.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/filesystem/fstream.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/service/runtime/FilesInFlight.h"
#include "tests/service/runtime/ToyServiceFixture.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using std::chrono::milliseconds;
using toy::makeBenchmark;
using toy::ToyClient;

// How often a session, or that of which it is a copy, has computed an observation when it starts.
class ObservedAtStartTest : public IsolatedServiceTest {
 protected:
  std::string observedAtStart(const std::vector<int32_t>& observations) {
    const auto started =
        client().start(toy::makeBenchmark("benchmark://toy-v0/abc", "abc"), observations);
    EXPECT_THAT(started.status, IsOk());
    const auto answer = client().send(started.reply.session_id(), {{"toy.get_observed", ""}});
    EXPECT_THAT(answer.status, IsOk());
    return answer.ok() ? answer.reply.reply(0) : "";
  }
};

TEST_F(ObservedAtStartTest, OncePerProgramAndOncePerSession) {
  start();
  EXPECT_EQ(observedAtStart({}), "0");
  EXPECT_EQ(observedAtStart({toy::kText, toy::kLength}), "4");
  EXPECT_EQ(observedAtStart({toy::kText, toy::kLength}), "4");
  EXPECT_EQ(observedAtStart({toy::kLength}), "3");
  EXPECT_EQ(observedAtStart({toy::kLength, toy::kHistogram}), "5");
}

TEST_F(ObservedAtStartTest, VaryingObservationsAreComputedBySessionsOnly) {
  start();
  for (int i = 0; i < 2; ++i) {
    const auto started =
        client().start(toy::makeBenchmark("benchmark://toy-v0/abc", "abc"), {toy::kCounter});
    ASSERT_THAT(started.status, IsOk());
    EXPECT_EQ(started.reply.observation(0).int64_value(), 1);
  }
}

TEST_F(ObservedAtStartTest, OneThatFailsDoesNoHarmToTheProgram) {
  start();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        client().start(toy::makeBenchmark("benchmark://toy-v0/abc", "abc"), {toy::kFailing}).status,
        IsError(StatusCode::INTERNAL, "The observation failing cannot be computed"));
  }
  EXPECT_EQ(client().textOf(client().startOn("abc")), "abc");
  // Other observations are still computed once per program, after the one that failed.
  EXPECT_EQ(observedAtStart({toy::kText, toy::kLength}), "5");
  EXPECT_EQ(observedAtStart({toy::kText, toy::kLength}), "5");
}

TEST_F(IsolatedServiceTest, PristineSessionsAreEvicted) {
  start({"--pristine_sessions_mib=64", "--spare_sessions=0"});
  const int64_t session = client().startOn("abc");
  const auto ask = [&](const std::string& key, const std::string& value) {
    const auto answer = client().send(session, {{"service.pristine_sessions." + key, value}});
    EXPECT_THAT(answer.status, IsOk());
    return answer.ok() ? answer.reply.reply(0) : "";
  };
  EXPECT_EQ(ask("get_max_size_in_bytes", ""), std::to_string(64 << 20));
  EXPECT_GT(std::stoll(ask("get_size_in_bytes", "")), 0);
  EXPECT_TRUE(eventually([this] { return sessionProcesses().size() == 2; }));
  EXPECT_EQ(ask("set_max_size_in_bytes", "0"), "0");
  EXPECT_EQ(ask("get_size_in_bytes", ""), "0");
  EXPECT_TRUE(eventually([this] { return sessionProcesses().size() == 1; }));
  EXPECT_EQ(client().textOf(session), "abc");
  expectServes();
  EXPECT_TRUE(eventually([this] { return sessionProcesses().size() == 1; }));
  EXPECT_EQ(ask("get_size_in_bytes", ""), "0");
}

TEST_F(IsolatedServiceTest, PristineSessionsAreLimitedInNumber) {
  start({"--max_pristine_sessions=3", "--spare_sessions=0"});
  for (int i = 0; i < 8; ++i) {
    const std::string text = "text" + std::to_string(i);
    const int64_t session = client().startOn(text);
    EXPECT_EQ(client().textOf(session), text);
    EXPECT_TRUE(client().end(session).ok());
  }
  EXPECT_TRUE(eventually([this] { return sessionProcesses().size() == 3; }));
}

// With a limit of the open files of the service. Tests beside this one have files on their way,
// too, which count for the same limit.
class OpenFilesTest : public IsolatedServiceTest {
 protected:
  // A session on a program, or a copy of one, as soon as there is room for it.
  int64_t eventuallyStartOn(const std::string& text) const {
    toy::Answer<StartSessionReply> started;
    EXPECT_TRUE(eventually([&] {
      started = client().start(makeBenchmark("uri " + text, text));
      return started.ok();
    })) << started.message();
    return started.reply.session_id();
  }
  void expectCopyOf(int64_t original, const std::string& text) const {
    EXPECT_TRUE(eventually([&] {
      const int64_t copy = client().fork(original).reply.session_id();
      const bool isRight = client().textOf(copy) == text;
      client().end(copy);
      return isRight;
    }));
  }

  // Lets the service open `count` more files.
  void limitOpenFiles(rlim_t count) const {
    int last = 0;
    const fs::path files("/proc/" + std::to_string(pid_) + "/fd");
    for (fs::directory_iterator file(files), end; file != end; ++file) {
      last = std::max(last, std::stoi(file->path().filename().string()));
    }
    rlimit limit = {};
    ASSERT_EQ(prlimit(pid_, RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = static_cast<rlim_t>(last) + count;
    ASSERT_EQ(prlimit(pid_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
};

TEST_F(OpenFilesTest, FilesOnTheirWayDoNoHarmToSessions) {
  dropPrivilegesOfSockets();
  start({"--spare_sessions=0"});
  const int64_t first = client().startOn("first");
  EXPECT_EQ(client().textOf(first), "first");
  limitOpenFiles(150);
  std::optional<FilesInFlight> others(300);
  const auto noRoom =
      IsError(StatusCode::RESOURCE_EXHAUSTED, "raise the limit of open files (ulimit -n)");
  EXPECT_THAT(client().start(makeBenchmark("other", "other")).status, noRoom);
  const auto forked = client().fork(first);
  ASSERT_THAT(forked.status, IsOk());
  EXPECT_THAT(client().step(forked.reply.session_id(), {}).status, noRoom);
  EXPECT_EQ(client().textOf(first), "first");
  others.reset();
  EXPECT_EQ(client().textOf(eventuallyStartOn("other")), "other");
  expectCopyOf(first, "first");
}

TEST_F(OpenFilesTest, PristineSessionsMakeRoomForOthers) {
  start({"--spare_sessions=0"});
  const int64_t first = client().startOn("first");
  EXPECT_EQ(client().textOf(first), "first");
  limitOpenFiles(150);
  for (int i = 0; i < 40; ++i) {
    const int64_t session = eventuallyStartOn("text" + std::to_string(i));
    expectCopyOf(first, "first");
    EXPECT_TRUE(client().end(session).ok());
  }
}

// Starts a session on a program whose start waits until the file "released" is there, and more
// sessions on it meanwhile.
class SimultaneousStartTest : public IsolatedServiceTest {
 protected:
  using Started = toy::Answer<StartSessionReply>;

  void beginOthers(const std::string& text) {
    for (int i = 0; i < 3; ++i) {
      others_.push_back(std::async(
          std::launch::async, [this, text] { return client().start(makeBenchmark("uri", text)); }));
    }
  }

  void release() const { fs::ofstream(working() / "released") << "released"; }

  std::vector<std::future<Started>> others_;
};

TEST_F(SimultaneousStartTest, DoesNotInheritTheDeadlineOfAnother) {
  start({"--spare_sessions=0"});
  const ToyClient hurried(port_, milliseconds(2000));
  auto first = std::async(std::launch::async,
                          [&] { return hurried.start(makeBenchmark("uri", "awaited")); });
  awaitAsleep();
  beginOthers("awaited");
  EXPECT_EQ(first.get().code(), StatusCode::DEADLINE_EXCEEDED);
  release();
  for (auto& other : others_) {
    const Started started = other.get();
    ASSERT_THAT(started.status, IsOk());
    EXPECT_EQ(client().textOf(started.reply.session_id()), "awaited");
  }
}

TEST_F(SimultaneousStartTest, NoneSucceedsOnAProgramThatIsRefused) {
  start({"--spare_sessions=0"});
  beginOthers("awaited-unacceptable");
  awaitAsleep();
  release();
  for (auto& other : others_) EXPECT_EQ(other.get().code(), StatusCode::INVALID_ARGUMENT);
}

#ifndef COMPILER_GYM_SANITIZER
// The bytes of code that a process has mapped from files.
uint64_t codeInFiles(pid_t pid) {
  std::istringstream maps(contentsOf("/proc/" + std::to_string(pid) + "/maps"));
  uint64_t size = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    const bool isCode = sscanf(line.c_str(), "%lx-%lx r-x", &begin, &end) == 2 &&
                        line.find("r-xp") != std::string::npos;
    if (isCode && line.find('/') != std::string::npos) size += end - begin;
  }
  return size;
}

TEST_F(IsolatedServiceTest, CodeOfLaterSessionsIsInLargePages) {
  if (contentsOf("/sys/kernel/mm/transparent_hugepage/enabled").find("[never]") !=
      std::string::npos) {
    GTEST_SKIP() << "This machine has no large pages";
  }
  start({"--sessions_before_large_pages=3", "--spare_sessions=0"});
  constexpr uint64_t kLargePage = 2 << 20;
  const uint64_t before = codeInFiles(forkServer());
  const int64_t early = client().startOn("known");
  ASSERT_TRUE(client().step(early, {"append-a"}).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client().end(client().startOn("known")).ok());
  ASSERT_TRUE(eventually([&] { return codeInFiles(forkServer()) <= before - kLargePage; }));

  const int64_t late = client().startOn("known");
  EXPECT_EQ(client().textOf(late), "known");
  EXPECT_EQ(client().textOf(early), "knowna");
  // The early one is left, and not the pristine session from which it was copied.
  EXPECT_TRUE(client().end(late).ok());
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(client().end(client().startOn("known")).ok());
    const std::vector<pid_t> processes = sessionProcesses();
    const auto old = std::count_if(processes.begin(), processes.end(),
                                   [&](pid_t pid) { return codeInFiles(pid) >= before; });
    return processes.size() == 2 && old == 1;
  }));
}
#endif

}  // namespace
}  // namespace compiler_gym::runtime
