// Many threads at one service. The service's methods are called directly, so that the thread
// sanitizer sees everything that happens: gRPC's own threads are compiled without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using ::testing::StartsWith;
using toy::makeBenchmark;
using toy::ToyClient;
using toy::ToySession;

// Holds threads up until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }

  void awaitWaiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return waiting_ >= count; });
  }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

// What the sessions of one test share; set by the fixture.
struct Shared {
  Gate gate;
  std::atomic<int> liveSessions = 0;
};

Shared* shared = nullptr;

// Waits at the gate in init() if the program is "wait", and in an action with the value "wait".
// Counts actions without any lock of its own.
class GatedSession final : public CompilationSession {
 public:
  explicit GatedSession(const fs::path& workingDirectory) : CompilationSession(workingDirectory) {
    ++shared->liveSessions;
  }
  ~GatedSession() override { --shared->liveSessions; }

  std::vector<ActionSpace> getActionSpaces() const override { return std::vector<ActionSpace>(1); }
  std::vector<ObservationSpace> getObservationSpaces() const override {
    return std::vector<ObservationSpace>(1);
  }
  Status init(const ActionSpace&, const Benchmark& benchmark) override {
    if (benchmark.program().contents() == "wait") shared->gate.pass();
    return Status::OK;
  }
  Status init(CompilationSession* other) override {
    count_ = dynamic_cast<GatedSession*>(other)->count_;
    return Status::OK;
  }
  Status applyAction(const Event& action, bool&, std::optional<ActionSpace>&, bool&) override {
    if (action.string_value() == "wait") shared->gate.pass();
    ++count_;
    return Status::OK;
  }
  Status computeObservation(const ObservationSpace&, Event& observation) override {
    observation.set_int64_value(count_);
    return Status::OK;
  }

 private:
  int64_t count_ = 0;
};

class ConcurrencyTest : public ::testing::Test {
 protected:
  // Makes what the sessions share exist before the service, which constructs one.
  ConcurrencyTest()
      : service_((shared = &shared_, fs::temp_directory_path())), client_(&service_) {}

  static StepRequest stepRequest(int64_t session, const std::string& action) {
    StepRequest request;
    request.set_session_id(session);
    request.add_action()->set_string_value(action);
    request.add_observation_space(0);
    return request;
  }

  // Starts a step that waits at the gate.
  std::future<toy::Answer<StepReply>> waitingStep(int64_t session) {
    auto future = std::async(
        std::launch::async, [this, session] { return client_.step(stepRequest(session, "wait")); });
    shared_.gate.awaitWaiting(1);
    return future;
  }

  // Every kind of request, on other sessions than the waiting one.
  void expectServiceResponds() {
    const int64_t other = client_.startOn("go");
    ASSERT_GE(other, 0);
    EXPECT_TRUE(client_.step(stepRequest(other, "go")).ok());
    const auto forked = client_.fork(other);
    EXPECT_TRUE(forked.ok());
    EXPECT_TRUE(client_.end(forked.reply.session_id()).ok());
    EXPECT_TRUE(client_.add({makeBenchmark("uri", "program")}).ok());
    EXPECT_TRUE(client_.send(other, {{"service.benchmark_cache.get_size_in_bytes", ""}}).ok());
    EXPECT_TRUE(client_.getSpaces().ok());
    EXPECT_TRUE(client_.end(other).ok());
  }

  Shared shared_;
  CompilerGymService<GatedSession> service_;
  const ToyClient client_;
};

TEST_F(ConcurrencyTest, NobodyWaitsForAStepOfAnotherSession) {
  auto step = waitingStep(client_.startOn("go"));
  expectServiceResponds();
  shared_.gate.open();
  EXPECT_TRUE(step.get().ok());
}

TEST_F(ConcurrencyTest, NobodyWaitsForTheStartOfAnotherSession) {
  auto start = std::async(std::launch::async, [this] { return client_.startOn("wait"); });
  shared_.gate.awaitWaiting(1);
  expectServiceResponds();
  shared_.gate.open();
  EXPECT_GE(start.get(), 0);
  EXPECT_EQ(service_.sessionCount(), 1);
}

TEST_F(ConcurrencyTest, SessionsStartAtTheSameTime) {
  std::vector<std::future<int64_t>> starts;
  for (int i = 0; i < 3; ++i) {
    starts.push_back(std::async(std::launch::async, [this] { return client_.startOn("wait"); }));
  }
  // Returns only if all three are inside init().
  shared_.gate.awaitWaiting(3);
  shared_.gate.open();
  for (auto& start : starts) EXPECT_GE(start.get(), 0);
}

TEST_F(ConcurrencyTest, StepsOfOneSessionAreSerialised) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 250;
  const int64_t session = client_.startOn("go");
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, session] {
      int64_t previous = 0;
      for (int step = 0; step < kSteps; ++step) {
        const auto answer = client_.step(stepRequest(session, "go"));
        ASSERT_TRUE(answer.ok()) << answer.message();
        EXPECT_GT(answer.reply.observation(0).int64_value(), previous);
        previous = answer.reply.observation(0).int64_value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  StepRequest observe;
  observe.set_session_id(session);
  observe.add_observation_space(0);
  EXPECT_EQ(client_.step(observe).reply.observation(0).int64_value(), kThreads * kSteps);
}

TEST_F(ConcurrencyTest, SessionThatIsEndedDuringAStepLivesUntilTheStepIsDone) {
  const int64_t session = client_.startOn("go");
  auto step = waitingStep(session);
  EXPECT_EQ(shared_.liveSessions, 1);

  const auto ended = client_.end(session);
  ASSERT_TRUE(ended.ok()) << ended.message();
  EXPECT_EQ(ended.reply.remaining_sessions(), 0);
  EXPECT_EQ(client_.end(session).code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client_.step(stepRequest(session, "go")).code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(shared_.liveSessions, 1);

  shared_.gate.open();
  const auto answer = step.get();
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.observation(0).int64_value(), 1);
  EXPECT_EQ(shared_.liveSessions, 0);
}

TEST_F(ConcurrencyTest, RequestsThatWaitForAnEndedSessionAreTold) {
  const int64_t session = client_.startOn("go");
  auto step = waitingStep(session);
  auto queuedStep = std::async(std::launch::async,
                               [&] { return client_.step(stepRequest(session, "go")).status; });
  auto queuedFork = std::async(std::launch::async, [&] { return client_.fork(session).status; });
  auto queuedParameter =
      std::async(std::launch::async, [&] { return client_.send(session, {{"a", "b"}}).status; });
  // There is no way to see that they wait; if they are late the outcome is the same.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(client_.end(session).ok());
  shared_.gate.open();
  EXPECT_TRUE(step.get().ok());
  for (const Status& status : {queuedStep.get(), queuedFork.get(), queuedParameter.get()}) {
    EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
    EXPECT_THAT(status.error_message(), StartsWith("Session not found"));
  }
  EXPECT_EQ(service_.sessionCount(), 0);
  EXPECT_EQ(shared_.liveSessions, 0);
}

// Threads that do anything to any of a few sessions. Every request must either succeed, or find
// that the session is gone.
TEST(ConcurrencyStressTest, AnythingFromManyThreads) {
  constexpr int kThreads = 6;
  constexpr int kRequests = 400;
  constexpr int kIds = 24;
  CompilerGymService<ToySession> service(fs::temp_directory_path());
  const ToyClient client(&service);
  std::atomic<int> successes = 0;

  const auto check = [&successes](const Status& status) {
    if (status.ok()) {
      ++successes;
    } else {
      EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND) << status.error_message();
    }
  };
  const auto play = [&client, &check](int seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kRequests; ++i) {
      const int64_t session = static_cast<int64_t>(random() % kIds);
      const std::string uri = "benchmark://toy-v0/" + std::to_string(random() % 5);
      switch (random() % 8) {
        case 0:
          check(client.start(makeBenchmark(uri, "some text"), {toy::kText}).status);
          break;
        case 1:
          check(client.fork(session).status);
          break;
        case 2:
          check(client.end(session).status);
          break;
        case 3:
          check(client.add({makeBenchmark(uri, "other text")}).status);
          break;
        case 4:
          check(client
                    .send(session, {{"service.benchmark_cache.set_max_size_in_bytes", "100"},
                                    {"toy.get_sleep_milliseconds", ""}})
                    .status);
          break;
        default:
          check(client
                    .step(session, {"reverse", "append-a", "rotate"},
                          {toy::kText, toy::kHistogram, toy::kRatios})
                    .status);
      }
    }
  };

  std::vector<std::thread> threads;
  for (int seed = 0; seed < kThreads; ++seed) threads.emplace_back(play, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(successes, kThreads * kRequests / 4);

  // Whatever is left still works, and can be ended.
  int remaining = service.sessionCount();
  for (int64_t id = 0; remaining > 0; ++id) {
    if (client.textOf(id) == "?") continue;
    --remaining;
    EXPECT_EQ(client.end(id).reply.remaining_sessions(), remaining);
  }
  EXPECT_EQ(service.sessionCount(), 0);
}

}  // namespace
}  // namespace compiler_gym::runtime
