// Many threads at one service. The service's methods are called directly, so that the thread
// sanitizer sees everything that happens: gRPC's own threads are compiled without it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using toy::makeBenchmark;
using toy::ToyClient;
using toy::ToySession;

class ConcurrencyTest : public ::testing::Test {
 protected:
  ConcurrencyTest() : service_(makeToySessions()), client_(&service_) {}
  ~ConcurrencyTest() override {
    fs::remove(asleep());
    fs::remove(released());
  }

  static fs::path asleep() { return toyDirectory() / "asleep"; }
  static fs::path released() { return toyDirectory() / "released"; }
  static void release() { std::ofstream(released().string()) << "released"; }

  // Waits until so many sessions wait for release(), or hang.
  static void awaitAsleep(size_t count) {
    const auto size = [] {
      boost::system::error_code none;
      const auto bytes = fs::file_size(asleep(), none);
      return none ? 0 : bytes;
    };
    while (size() < count * std::string("asleep").size()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // Starts a session whose init() waits for release().
  std::future<int64_t> waitingStart(int number) const {
    return std::async(std::launch::async, [this, number] {
      return client_.start(makeBenchmark("benchmark://toy-v0/" + std::to_string(number), "awaited"))
          .reply.session_id();
    });
  }

  // Every kind of request, on other sessions than the waiting one.
  void expectServiceResponds() const {
    const int64_t other = client_.startOn("go");
    ASSERT_GE(other, 0);
    EXPECT_TRUE(client_.step(other, {"reverse"}).ok());
    const auto forked = client_.fork(other);
    EXPECT_TRUE(forked.ok());
    EXPECT_TRUE(client_.end(forked.reply.session_id()).ok());
    EXPECT_TRUE(client_.add({makeBenchmark("uri", "program")}).ok());
    EXPECT_TRUE(client_.send(other, {{"service.benchmark_cache.get_size_in_bytes", ""}}).ok());
    EXPECT_TRUE(client_.getSpaces().ok());
    EXPECT_TRUE(client_.end(other).ok());
  }

  CompilerGymService<ToySession> service_;
  const ToyClient client_;
};

TEST_F(ConcurrencyTest, NobodyWaitsForTheStartOfAnotherSession) {
  auto start = waitingStart(0);
  awaitAsleep(1);
  expectServiceResponds();
  release();
  EXPECT_GE(start.get(), 0);
  EXPECT_EQ(service_.sessionCount(), 1);
}

// Threads that do anything to any of a few sessions. Every request must either succeed, or find
// that the session is gone, perhaps before it was copied.
TEST(ConcurrencyStressTest, AnythingFromManyThreads) {
  constexpr int kThreads = 6;
  constexpr int kRequests = 400;
  constexpr int kIds = 24;
  static constexpr char kNotCopied[] =
      "The session of which this one was to be a copy ended before it was copied";
  CompilerGymService<ToySession> service(makeToySessions());
  const ToyClient client(&service);
  std::atomic<int> successes = 0;

  const auto check = [&successes](const Status& status) {
    if (status.ok()) {
      ++successes;
    } else {
      EXPECT_TRUE(status.error_code() == StatusCode::NOT_FOUND ||
                  status.error_message() == kNotCopied)
          << status.error_message();
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

  // Whatever is left can be ended.
  int remaining = service.sessionCount();
  for (int64_t id = 0; remaining > 0; ++id) {
    const auto ended = client.end(id);
    if (!ended.ok()) continue;
    --remaining;
    EXPECT_EQ(ended.reply.remaining_sessions(), remaining);
  }
  EXPECT_EQ(service.sessionCount(), 0);
}

}  // namespace
}  // namespace compiler_gym::runtime
