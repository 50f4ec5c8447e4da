// Sessions that own a directory and a thread, and are copied as processes.
#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "tests/Effort.h"
#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/Processes.h"
#include "tests/service/runtime/ToyClient.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using toy::makeBenchmark;

// Adds one to a number, and works with a directory and a thread of its own. The program of a
// benchmark is
//   forkable    its thread ends with each request;
//   threaded    its thread stays, but it does not say that its process cannot be copied;
//   unforkable  its thread stays, and it says so;
//   failing     as forkable, but its copies cannot be set up;
//   slow        as forkable, but it takes a while to set them up;
//   lingering   as forkable, but it takes a while to end.
//
// The only action is to add. Observations:
//   0  number     string: what the file in the directory and the thread say the number is, with a
//                 blank between
//   1  directory  string: the path of the directory
class OwningSession final : public CompilationSession {
 public:
  using CompilationSession::CompilationSession;
  ~OwningSession() override;

  std::vector<ActionSpace> getActionSpaces() const override;
  std::vector<ObservationSpace> getObservationSpaces() const override;
  [[nodiscard]] grpc::Status init(const ActionSpace& actionSpace,
                                  const Benchmark& benchmark) override;
  [[nodiscard]] grpc::Status applyAction(const Event& action, bool& endOfEpisode,
                                         std::optional<ActionSpace>& newActionSpace,
                                         bool& actionHadNoEffect) override;
  [[nodiscard]] grpc::Status computeObservation(const ObservationSpace& observationSpace,
                                                Event& observation) override;
  bool forkable() const override { return program_ != "unforkable"; }
  [[nodiscard]] grpc::Status afterFork() override;

 private:
  // Says a number when asked, from another thread, which allocates memory all the time.
  class Speaker {
   public:
    Speaker();
    ~Speaker();
    std::string say(int64_t number);

   private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    int64_t question_ = 0;
    std::string answer_;
    bool isAsked_ = false;
    bool isStopping_ = false;
    std::thread thread_;
  };

  bool keepsThread() const { return program_ == "threaded" || program_ == "unforkable"; }
  std::string say();
  grpc::Status acquire();
  grpc::Status write() const;

  std::string program_;
  int64_t number_ = 0;
  boost::filesystem::path directory_;
  std::unique_ptr<Speaker> speaker_;
};

OwningSession::Speaker::Speaker() : thread_([this] { run(); }) {}

OwningSession::Speaker::~Speaker() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
  }
  thread_.join();
}

std::string OwningSession::Speaker::say(int64_t number) {
  std::unique_lock lock(mutex_);
  question_ = number;
  isAsked_ = true;
  changed_.wait(lock, [this] { return !isAsked_; });
  return answer_;
}

void OwningSession::Speaker::run() {
  std::deque<std::string> blocks;
  for (size_t size = 1;; size = size % 5'000 + 7) {
    blocks.emplace_back(size, ' ');
    if (blocks.size() > 50) blocks.pop_front();
    const std::lock_guard lock(mutex_);
    if (isStopping_) return;
    if (!isAsked_) continue;
    answer_ = std::to_string(question_);
    isAsked_ = false;
    changed_.notify_all();
  }
}

OwningSession::~OwningSession() {
  if (program_ == "lingering") std::this_thread::sleep_for(std::chrono::milliseconds(500));
  boost::system::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

std::vector<ActionSpace> OwningSession::getActionSpaces() const {
  ActionSpace space;
  space.set_name("Add");
  space.mutable_space()->mutable_named_discrete()->add_name("add");
  return {space};
}

std::vector<ObservationSpace> OwningSession::getObservationSpaces() const {
  std::vector<ObservationSpace> spaces(2);
  spaces[0].set_name("number");
  spaces[1].set_name("directory");
  for (ObservationSpace& space : spaces) {
    space.mutable_space()->mutable_string_value()->mutable_length_range()->set_min(0);
  }
  return spaces;
}

Status OwningSession::init(const ActionSpace& /*actionSpace*/, const Benchmark& benchmark) {
  program_ = benchmark.program().contents();
  return acquire();
}

Status OwningSession::acquire() {
  directory_ = workingDirectory() / fs::unique_path("owned-%%%%%%%%");
  fs::create_directory(directory_);
  RETURN_IF_ERROR(write());
  if (keepsThread()) speaker_ = std::make_unique<Speaker>();
  return Status::OK;
}

Status OwningSession::afterFork() {
  if (program_ == "failing") {
    directory_.clear();  // The destructor must not take it for its own.
    return Status(StatusCode::UNAVAILABLE, "there is only one of it");
  }
  RETURN_IF_ERROR(acquire());
  if (program_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return Status::OK;
}

Status OwningSession::write() const {
  std::ofstream((directory_ / "number").string()) << number_;
  return Status::OK;
}

std::string OwningSession::say() {
  if (keepsThread()) return speaker_->say(number_);
  return Speaker().say(number_);
}

Status OwningSession::applyAction(const Event& /*action*/, bool& /*endOfEpisode*/,
                                  std::optional<ActionSpace>& /*newActionSpace*/,
                                  bool& /*actionHadNoEffect*/) {
  ++number_;
  return write();
}

Status OwningSession::computeObservation(const ObservationSpace& observationSpace,
                                         Event& observation) {
  if (observationSpace.name() == "directory") {
    observation.set_string_value(directory_.string());
    return Status::OK;
  }
  observation.set_string_value(contentsOf(directory_ / "number") + " " + say());
  return Status::OK;
}

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

class OwningSessionTest : public ::testing::TestWithParam<const char*> {
 protected:
  OwningSessionTest()
      : service_(std::make_shared<RpcHandlers>(forkServer(), directory(), Limits())),
        client_(&service_) {}

  int64_t start(const std::string& program) const {
    const auto answer = client_.start(makeBenchmark("benchmark://owning-v0/" + program, program));
    EXPECT_THAT(answer.status, IsOk());
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
  EXPECT_EQ(add(original, 2), "2 2");
  const auto forked = client_.fork(original);
  ASSERT_THAT(forked.status, IsOk());
  const int64_t copy = forked.reply.session_id();
  EXPECT_EQ(add(copy, 3), "5 5");
  EXPECT_EQ(add(original, 0), "2 2");
  const fs::path ofOriginal = directoryOf(original);
  const fs::path ofCopy = directoryOf(copy);
  EXPECT_NE(ofOriginal, ofCopy);
  ASSERT_TRUE(client_.end(original).ok());
  EXPECT_TRUE(eventuallyGone(ofOriginal));
  EXPECT_EQ(add(copy, 1), "6 6");
  ASSERT_TRUE(client_.end(copy).ok());
  EXPECT_TRUE(eventuallyGone(ofCopy));
}

// In a copy of a process in which another thread held a lock of the allocator, it is held for ever.
TEST_P(OwningSessionTest, CopiesCanAllocateDespiteThreads) {
  const int64_t original = start(GetParam());
  for (int i = 0; i < effort(12, 50); ++i) {
    const auto forked = client_.fork(original);
    ASSERT_THAT(forked.status, IsOk());
    const std::string number = std::to_string(i + 1);
    ASSERT_EQ(add(forked.reply.session_id(), i + 1), number + " " + number);
    ASSERT_TRUE(client_.end(forked.reply.session_id()).ok());
  }
}

TEST_F(OwningSessionTest, AbandonedCopyLeavesNothing) {
  const int64_t session = start("slow");
  EXPECT_EQ(add(session, 1), "1 1");
  const std::set<fs::path> before = entriesOf(directory());
  const auto forked = client_.fork(session);
  ASSERT_THAT(forked.status, IsOk());
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
  EXPECT_EQ(add(session, 1), "1 1");
  const fs::path owned = directoryOf(session);
  ASSERT_TRUE(client_.end(session).ok());
  EXPECT_TRUE(eventuallyGone(owned));
}

TEST_F(OwningSessionTest, CopyThatCannotBeSetUpSaysWhy) {
  const int64_t session = start("failing");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(observe(session, 0, 1).status,
                IsError(StatusCode::UNAVAILABLE,
                        "The copy of the session could not be set up: there is only one of it"));
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
