// Sessions that own a directory, a thread, a child and a socket, and are copied as processes.
#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "tests/service/runtime/OwningSession.h"
#include "tests/service/runtime/ToyClient.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using toy::OwningSession;

const fs::path& directory() {
  static const fs::path path = [] {
    const fs::path made = fs::temp_directory_path() / fs::unique_path();
    fs::create_directory(made);
    return made;
  }();
  return path;
}

const std::shared_ptr<ForkServerProcess>& forkServer() {
  static const std::shared_ptr<ForkServerProcess> server = [] {
    std::unique_ptr<ForkServerProcess> started;
    const grpc::Status status = ForkServerProcess::start(
        makeSessionFactory<OwningSession>(), directory(), Limits(), [] {}, &started);
    CHECK(status.ok()) << status.error_message();
    return started;
  }();
  return server;
}

std::set<fs::path> entriesOf(const fs::path& path) {
  std::set<fs::path> entries;
  for (const fs::directory_entry& each : fs::directory_iterator(path)) entries.insert(each.path());
  return entries;
}

bool eventually(const std::function<bool()>& isSo) {
  for (int i = 0; i < 10'000 && !isSo(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return isSo();
}

class OwningSessionTest : public ::testing::TestWithParam<const char*> {
 protected:
  OwningSessionTest()
      : service_(std::make_shared<Sessions>(forkServer(), directory(), Limits())),
        client_(&service_) {}

  int64_t start(const std::string& program) const {
    const auto answer = client_.start(makeBenchmark("benchmark://owning-v0/" + program, program));
    EXPECT_TRUE(answer.ok()) << answer.message();
    return answer.ok() ? answer.reply.session_id() : -1;
  }

  toy::Answer<StepReply> observe(int64_t session, int observation, int additions = 0) const {
    StepRequest request;
    request.set_session_id(session);
    for (int i = 0; i < additions; ++i) request.add_action()->set_int64_value(0);
    request.add_observation_space(observation);
    return client_.step(request);
  }

  std::string add(int64_t session, int additions) const {
    const auto answer = observe(session, 0, additions);
    return answer.ok() ? answer.reply.observation(0).string_value() : answer.message();
  }

  fs::path directoryOf(int64_t session) const {
    return observe(session, 1).reply.observation(0).string_value();
  }

  static bool eventuallyGone(const fs::path& path) {
    return eventually([&] { return !fs::exists(path); });
  }

  CompilerGymService<OwningSession> service_;
  toy::ToyClient client_;
};

INSTANTIATE_TEST_SUITE_P(Programs, OwningSessionTest,
                         ::testing::Values("forkable", "threaded", "unforkable"),
                         [](const auto& info) { return info.param; });

TEST_P(OwningSessionTest, CopyOutlivesItsOriginal) {
  const int64_t original = start(GetParam());
  EXPECT_EQ(add(original, 2), "2 2 2");
  const auto forked = client_.fork(original);
  ASSERT_TRUE(forked.ok()) << forked.message();
  const int64_t copy = forked.reply.session_id();
  EXPECT_EQ(add(copy, 3), "5 5 5");
  EXPECT_EQ(add(original, 0), "2 2 2");
  const fs::path ofOriginal = directoryOf(original);
  const fs::path ofCopy = directoryOf(copy);
  EXPECT_NE(ofOriginal, ofCopy);
  ASSERT_TRUE(client_.end(original).ok());
  EXPECT_TRUE(eventuallyGone(ofOriginal));
  EXPECT_EQ(add(copy, 1), "6 6 6");
  ASSERT_TRUE(client_.end(copy).ok());
  EXPECT_TRUE(eventuallyGone(ofCopy));
}

TEST_P(OwningSessionTest, OriginalOutlivesItsCopies) {
  const int64_t original = start(GetParam());
  EXPECT_EQ(add(original, 1), "1 1 1");
  for (int i = 0; i < 3; ++i) {
    const auto forked = client_.fork(original);
    ASSERT_TRUE(forked.ok()) << forked.message();
    const std::string number = std::to_string(1 + i);
    EXPECT_EQ(add(forked.reply.session_id(), i), number + " " + number + " " + number);
    const fs::path path = directoryOf(forked.reply.session_id());
    ASSERT_TRUE(client_.end(forked.reply.session_id()).ok());
    EXPECT_TRUE(eventuallyGone(path));
  }
  EXPECT_EQ(add(original, 1), "2 2 2");
  EXPECT_TRUE(fs::exists(directoryOf(original)));
}

// In a copy of a process in which another thread held a lock of the allocator, it is held for ever.
TEST_P(OwningSessionTest, CopiesCanAllocateDespiteThreads) {
  const int64_t original = start(GetParam());
  for (int i = 0; i < 50; ++i) {
    const auto forked = client_.fork(original);
    ASSERT_TRUE(forked.ok()) << forked.message();
    const std::string number = std::to_string(i + 1);
    ASSERT_EQ(add(forked.reply.session_id(), i + 1), number + " " + number + " " + number);
    ASSERT_TRUE(client_.end(forked.reply.session_id()).ok());
  }
}

TEST_F(OwningSessionTest, AbandonedCopyLeavesNothing) {
  const int64_t session = start("slow");
  EXPECT_EQ(add(session, 1), "1 1 1");
  const std::set<fs::path> before = entriesOf(directory());
  const auto forked = client_.fork(session);
  ASSERT_TRUE(forked.ok()) << forked.message();
  // It owns something, and is not there yet.
  fs::path owned;
  eventually([&] {
    for (const fs::path& each : entriesOf(directory())) {
      if (before.count(each) == 0) owned = each;
    }
    return !owned.empty();
  });
  ASSERT_FALSE(owned.empty());
  EXPECT_TRUE(client_.end(forked.reply.session_id()).ok());
  EXPECT_TRUE(eventuallyGone(owned));
  EXPECT_TRUE(client_.end(session).ok());
}

// Its client is gone by then, which ends a session that is at work.
TEST_F(OwningSessionTest, HasTimeToReleaseItsResources) {
  const int64_t session = start("lingering");
  EXPECT_EQ(add(session, 1), "1 1 1");
  const fs::path owned = directoryOf(session);
  ASSERT_TRUE(client_.end(session).ok());
  EXPECT_TRUE(eventuallyGone(owned));
}

TEST_F(OwningSessionTest, CopyThatCannotBeSetUpSaysWhy) {
  const int64_t session = start("failing");
  for (int i = 0; i < 2; ++i) {
    const auto answer = observe(session, 0, 1);
    EXPECT_EQ(answer.code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(answer.message(),
              "The copy of the session could not be set up: there is only one of it");
  }
  EXPECT_TRUE(client_.end(session).ok());
}

}  // namespace
}  // namespace compiler_gym::runtime

int main(int argc, char** argv) {
  // Before there are threads.
  compiler_gym::runtime::forkServer();
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  // Sessions that were started to copy them have ended, too, and none has left anything.
  const bool isEmpty = compiler_gym::runtime::eventually(
      [] { return boost::filesystem::is_empty(compiler_gym::runtime::directory()); });
  for (const auto& left : compiler_gym::runtime::entriesOf(compiler_gym::runtime::directory())) {
    std::cerr << "A session has left " << left << std::endl;
  }
  compiler_gym::runtime::forkServer()->stop();
  boost::filesystem::remove_all(compiler_gym::runtime::directory());
  return isEmpty ? result : 1;
}
