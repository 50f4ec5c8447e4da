// Tests of the isolation of session processes: effects of misbehaving compilers on others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/filesystem/fstream.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/service/runtime/ToyServiceFixture.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using toy::makeBenchmark;
using toy::ToyClient;

// The effect of a toy action on its process, and the expected report.
struct Fault {
  const char* action;
  StatusCode code;
  // Parts of the text.
  std::vector<std::string> text;
};

class FaultTest : public IsolatedServiceTest, public ::testing::WithParamInterface<Fault> {
 protected:
  int numberOfAction() const {
    const std::vector<std::string>& names = toy::ToySession::editNames();
    return static_cast<int>(std::find(names.begin(), names.end(), GetParam().action) -
                            names.begin());
  }

  void expectReported(const grpc::Status& status) const {
    EXPECT_EQ(status.error_code(), GetParam().code) << status.error_message();
    for (const std::string& part : GetParam().text) {
      EXPECT_THAT(status.error_message(), HasSubstr(part));
    }
    EXPECT_THAT(status.error_message(),
                HasSubstr("in action '" + std::string(GetParam().action) + "' (number " +
                          std::to_string(numberOfAction()) + ", step 2)"));
  }
};

TEST_P(FaultTest, IsContained) {
  // Only those that never end are to come to a time limit.
  const bool isEndless = GetParam().code == StatusCode::DEADLINE_EXCEEDED;
  start({"--session_memory_mib=200",
         isEndless ? "--request_timeout_seconds=3" : "--request_timeout_seconds=250"});
  const int64_t other = client().startOn("other");
  const int64_t victim = client().startOn("victim");
  ASSERT_TRUE(client().step(victim, {"append-a"}).ok());
  const int64_t copy = client().fork(victim).reply.session_id();

  const auto died = client().step(victim, {"reverse", GetParam().action, "reverse"}, {toy::kText});
  expectReported(died.status);

  // The same answer to everything, until the session is ended.
  for (const grpc::Status& status :
       {client().step(victim, {"reverse"}).status, client().step(victim, {}, {toy::kText}).status,
        client().fork(victim).status,
        client().send(victim, {{"toy.get_sleep_milliseconds", ""}}).status}) {
    EXPECT_THAT(status, IsError(died.code(), died.message()));
  }
  const auto ended = client().end(victim);
  EXPECT_THAT(ended.status, IsOk());
  EXPECT_EQ(ended.reply.remaining_sessions(), 2);
  EXPECT_EQ(client().step(victim, {}).code(), StatusCode::NOT_FOUND);

  EXPECT_EQ(client().textOf(other), "other");
  EXPECT_EQ(client().textOf(copy), "victima");
  EXPECT_TRUE(client().step(copy, {"reverse"}).ok());
  EXPECT_EQ(client().textOf(copy), "amitciv");
  EXPECT_EQ(client().textOf(client().startOn("victim")), "victim");
  expectServes();
  expectExit(stop(), 6);
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultTest,
    ::testing::Values(
        Fault{"crash", StatusCode::ABORTED, {"was ended by signal 11 (Segmentation fault)"}},
        Fault{"abort",
              StatusCode::ABORTED,
              {"was ended by signal 6 (Aborted)", "It printed last:", "\n  toy: giving up"}},
        Fault{"exit", StatusCode::ABORTED, {"exited with code 3"}},
#ifndef COMPILER_GYM_SANITIZER
        Fault{"allocate", StatusCode::RESOURCE_EXHAUSTED, {"The memory limit of 200 MiB"}},
#endif
        Fault{"loop", StatusCode::DEADLINE_EXCEEDED, {"The time limit of 3"}}),
    [](const auto& info) { return std::string(info.param.action); });

// Allocators of sanitizers do not notice, or exit.
#ifndef COMPILER_GYM_SANITIZER
TEST_F(IsolatedServiceTest, CorruptHeapHurtsNobodyElse) {
  start();
  const int64_t other = client().startOn("other");
  const int64_t victim = client().startOn("victim");
  // The allocator may notice at once or later; the session itself is lost either way.
  EXPECT_THAT(client().step(victim, {"corrupt-heap"}, {toy::kHistogram, toy::kRatios}).status,
              IsError(StatusCode::ABORTED, "was ended by signal"));
  EXPECT_TRUE(client().end(victim).ok());
  EXPECT_EQ(client().textOf(other), "other");
  expectServes();
}
#endif

TEST_F(IsolatedServiceTest, ChatterIsSurvived) {
  start();
  const int64_t session = client().startOn("abc");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client().step(session, {"chatter"}).ok());
  EXPECT_EQ(client().textOf(session), "abc");
  // What is printed later is still told.
  EXPECT_THAT(client().step(session, {"abort"}).message(), HasSubstr("\n  toy: giving up"));
}

TEST_F(IsolatedServiceTest, SessionHasTimeAfterEachReply) {
  start();
  const int64_t session = client().startOn("abc");
  const auto replies = [&] {
    return std::stoi(client().send(session, {{"toy.get_replies", ""}}).reply.reply(0));
  };
  const int before = replies();
  ASSERT_TRUE(client().step(session, {"append-a", "no-op"}).ok());
  EXPECT_EQ(replies(), before + 2) << "After the first question and after the step";
}

TEST_F(IsolatedServiceTest, ProgramThatDoesNotStartCostsNobodyAnything) {
  start();
  const int64_t other = client().startOn("other");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(client().start(makeBenchmark("uri", "explosive")).status,
                IsError(StatusCode::INTERNAL, "the program exploded"));
    const auto aborted = client().start(makeBenchmark("uri", "deadly"));
    EXPECT_EQ(aborted.code(), StatusCode::ABORTED);
    EXPECT_THAT(aborted.message(),
                AllOf(HasSubstr("signal 6"), HasSubstr("the start of the session")));
  }
  EXPECT_EQ(client().textOf(other), "other");
  EXPECT_EQ(client().end(other).reply.remaining_sessions(), 0);
  expectServes();
  expectExit(stop(), 0);
}

// ---------------------------------------------------------------------------
// Deadlines and limits.

TEST_F(IsolatedServiceTest, DeadlineOfTheClientEndsTheSession) {
  start({"--request_timeout_seconds=50", "--spare_sessions=0", "--max_reproducers=0"});
  for (const char* action : {"loop", "hang"}) {
    const ToyClient hurried(port_, milliseconds(1000));
    const int64_t session = client().startOn("abc");
    // Its process is there when it has served a request.
    EXPECT_EQ(client().textOf(session), "abc");
    const std::vector<pid_t> before = sessionProcesses();
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = hurried.step(session, {action});
    const auto end = std::chrono::steady_clock::now();
    EXPECT_EQ(answer.code(), StatusCode::DEADLINE_EXCEEDED);
    // Long before the limit of the service.
    EXPECT_LT(end - begin, std::chrono::seconds(40));
    EXPECT_TRUE(eventually([&] { return sessionProcesses().size() < before.size(); }));
    // On a busy machine the client's library may have been faster with a reason of its own.
    const auto later = client().step(session, {});
    EXPECT_THAT(later.status, IsError(StatusCode::DEADLINE_EXCEEDED, "The time limit of "));
    EXPECT_THAT(later.message(), HasSubstr("in action '" + std::string(action) + "'"));
    EXPECT_TRUE(client().end(session).ok());
  }
  expectServes();
}

TEST_F(IsolatedServiceTest, LargestLimitOfSessions) {
  start({"--max_sessions=2147483647"});
  EXPECT_EQ(client().textOf(client().startOn("abc")), "abc");
}

// ---------------------------------------------------------------------------
// Copies.

// A session is promised before its process is there, and so is its copy. Here both have to wait for
// the process that is to be copied first.
TEST_F(IsolatedServiceTest, OriginalMayEndBeforeItsProcessWasMade) {
  start();
  const int64_t known = client().startOn("abc");
  // The first of the processes is the pristine session.
  const pid_t pristine = sessionProcesses().front();
  ASSERT_EQ(kill(pristine, SIGSTOP), 0);
  const int64_t original = client().startOn("abc");
  const int64_t copy = client().fork(original).reply.session_id();
  EXPECT_TRUE(client().end(original).ok());
  // Until the service has closed the original's socket.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ASSERT_EQ(kill(pristine, SIGCONT), 0);
  EXPECT_EQ(client().textOf(copy), "abc");
  EXPECT_EQ(client().textOf(known), "abc");
}

// ---------------------------------------------------------------------------
// Reproducers.

fs::path reproducerIn(const std::string& text) {
  const std::string key = "\nReproducer: ";
  const size_t begin = text.find(key);
  if (begin == std::string::npos) return {};
  return text.substr(begin + key.size(), text.find('\n', begin + 1) - begin - key.size());
}

TEST_F(IsolatedServiceTest, ReproducerIsTheStateBeforeTheAction) {
  start();
  const int64_t session = client().startOn("abc");
  ASSERT_TRUE(client().step(session, {"append-a", "reverse"}).ok());
  const fs::path directory = reproducerIn(client().step(session, {"rotate", "crash"}).message());
  EXPECT_EQ(directory.parent_path(), working() / "reproducers");
  EXPECT_EQ(contentsOf(directory / "text"), "cbaa");
  EXPECT_EQ(contentsOf(directory / "action"), "14");
  EXPECT_EQ(fs::status(working() / "reproducers").permissions() & fs::perms_mask, fs::owner_all);
  // One for each action.
  const auto again = client().step(client().startOn("abc"), {"crash"});
  EXPECT_EQ(again.code(), StatusCode::ABORTED);
  EXPECT_TRUE(reproducerIn(again.message()).empty());
  EXPECT_FALSE(reproducerIn(client().step(client().startOn("abc"), {"exit"}).message()).empty());
}

TEST_F(IsolatedServiceTest, CrashesAfterTheReplyAreThoseOfTheLastAction) {
  start({"--spare_sessions=0"});
  const int64_t session = client().startOn("abc");
  ASSERT_TRUE(client().step(session, {"append-a", "crash-later"}, {toy::kText}).ok());
  const auto died = client().step(session, {"reverse"});
  EXPECT_EQ(died.code(), StatusCode::ABORTED);
  EXPECT_THAT(died.message(), HasSubstr("in the work left by action 'crash-later' (number 22, "));
  const fs::path directory = reproducerIn(died.message());
  EXPECT_EQ(contentsOf(directory / "text"), "abca");
  EXPECT_EQ(contentsOf(directory / "action"), "22");
  // A process that has run no command has left files, too.
  const auto isLeft = [](const fs::path& path) { return path.stem() == "crash"; };
  EXPECT_TRUE(eventually([&] {
    return std::none_of(fs::directory_iterator(working()), fs::directory_iterator(),
                        [&](const auto& entry) { return isLeft(entry.path()); });
  }));
}

#ifndef COMPILER_GYM_SANITIZER
TEST_F(IsolatedServiceTest, ReproducerSaysIfMemoryWasScarce) {
  start({"--session_memory_mib=200"});
  const std::string died = client().step(client().startOn("abc"), {"crash-when-full"}).message();
  const std::string note =
      "of the 200 MiB of memory that a session may have (--session_memory_mib of the service)";
  EXPECT_THAT(died, HasSubstr("was ended by signal 11"));
  EXPECT_THAT(died, HasSubstr(note));
  EXPECT_THAT(contentsOf(reproducerIn(died) / "memory.txt"), HasSubstr(note));

  const std::string other = client().step(client().startOn("abc"), {"crash"}).message();
  EXPECT_THAT(other, Not(HasSubstr("MiB")));
  EXPECT_FALSE(reproducerIn(other).empty());
  EXPECT_FALSE(fs::exists(reproducerIn(other) / "memory.txt"));
}
#endif

TEST_F(IsolatedServiceTest, ReproducerThatFailsIsTriedAgain) {
  start();
  const auto crash = [this] {
    return reproducerIn(client().step(client().startOn("abc"), {"crash"}).message());
  };
  fs::ofstream(working() / "no-reproducer") << "none";
  EXPECT_TRUE(crash().empty());
  fs::remove(working() / "no-reproducer");
  const fs::path directory = crash();
  EXPECT_EQ(contentsOf(directory / "text"), "abc");
  EXPECT_TRUE(crash().empty());
}

TEST_F(IsolatedServiceTest, NoReproducers) {
  start({"--max_reproducers=0"});
  EXPECT_THAT(client().step(client().startOn("abc"), {"crash"}).message(),
              Not(HasSubstr("Reproducer")));
  EXPECT_FALSE(fs::exists(working() / "reproducers"));
}

}  // namespace
}  // namespace compiler_gym::runtime
