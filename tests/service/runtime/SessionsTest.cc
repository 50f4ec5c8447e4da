// Forking, ending and parametrising sessions, and the defaults of the session class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/service/runtime/CompilerGymServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using toy::makeBenchmark;
using toy::ToyClient;

// ---------------------------------------------------------------------------
// ForkSession and EndSession.

TEST_P(CompilerGymServiceTest, ForkOfAnEndedEpisodeHasEndedToo) {
  const int64_t session = client().startOn("abc");
  ASSERT_TRUE(client().step(session, {"end"}).ok());
  const int64_t copy = client().fork(session).reply.session_id();
  EXPECT_EQ(client().step(copy, {"reverse"}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(client().step(copy, {}).reply.end_of_session());
}

TEST_P(CompilerGymServiceTest, EndReportsTheRemainingSessions) {
  const int64_t first = client().startOn("abc");
  const int64_t second = client().startOn("abc");
  const auto answer = client().end(first);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.remaining_sessions(), 1);
  EXPECT_EQ(client().end(second).reply.remaining_sessions(), 0);
  EXPECT_EQ(sessionCount(), 0);
}

TEST_P(CompilerGymServiceTest, UnknownSessionsAreNotFound) {
  const int64_t ended = client().startOn("abc");
  ASSERT_TRUE(client().end(ended).ok());
  for (const int64_t session : {ended, int64_t{99}, int64_t{-1}}) {
    for (const grpc::Status& status :
         {client().step(session, {}).status, client().fork(session).status,
          client().end(session).status, client().send(session, {{"a", "b"}}).status}) {
      EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
      EXPECT_EQ(status.error_message(), "Session not found: " + std::to_string(session));
    }
  }
}

// ---------------------------------------------------------------------------
// SendSessionParameter.

constexpr char kSetMaxSize[] = "service.benchmark_cache.set_max_size_in_bytes";
constexpr char kGetMaxSize[] = "service.benchmark_cache.get_max_size_in_bytes";
constexpr char kGetSize[] = "service.benchmark_cache.get_size_in_bytes";

TEST_P(CompilerGymServiceTest, ParametersOfTheSessionAndOfTheService) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().send(
      session,
      {{"toy.set_sleep_milliseconds", "7"}, {kGetMaxSize, ""}, {"toy.get_sleep_milliseconds", ""}});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_THAT(answer.reply.reply(), ElementsAre("7", "268435456", "7"));
}

TEST_P(CompilerGymServiceTest, CacheSizeParameters) {
  const int64_t session = client().startOn("abc");
  const size_t size = benchmarks().sizeInBytes();
  ASSERT_GT(size, 0);
  EXPECT_THAT(client().send(session, {{kGetSize, ""}}).reply.reply(),
              ElementsAre(std::to_string(size)));
  // More than 32 bits.
  EXPECT_THAT(
      client().send(session, {{kSetMaxSize, "5000000000"}, {kGetMaxSize, ""}}).reply.reply(),
      ElementsAre("5000000000", "5000000000"));
  EXPECT_EQ(benchmarks().size(), 1);
  EXPECT_THAT(client().send(session, {{kSetMaxSize, "1"}, {kGetSize, ""}}).reply.reply(),
              ElementsAre("1", "0"));
  EXPECT_EQ(benchmarks().size(), 0);
  EXPECT_EQ(client().textOf(session), "abc");
}

TEST_P(CompilerGymServiceTest, MalformedCacheSizes) {
  const int64_t session = client().startOn("abc");
  for (const char* value : {"", "-1", "12x", " 12", "1.5", "twelve", "9223372036854775808"}) {
    const auto answer = client().send(session, {{kSetMaxSize, value}});
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT) << value;
    EXPECT_THAT(answer.message(), HasSubstr(std::string("not \"") + value + "\""));
  }
  EXPECT_EQ(benchmarks().maxSizeInBytes(), kEvictionSizeInBytes);
}

TEST_P(CompilerGymServiceTest, UnknownParameterKeepsThoseBeforeIt) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().send(
      session, {{"toy.set_sleep_milliseconds", "3"}, {"unknown.key", ""}, {kSetMaxSize, "1"}});
  EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.message(), StartsWith("Unknown session parameter \"unknown.key\""));
  EXPECT_THAT(client().send(session, {{"toy.get_sleep_milliseconds", ""}}).reply.reply(),
              ElementsAre("3"));
  EXPECT_EQ(benchmarks().maxSizeInBytes(), kEvictionSizeInBytes);
  EXPECT_EQ(client().send(session, {{"toy.set_sleep_milliseconds", "x"}}).code(),
            StatusCode::INVALID_ARGUMENT);
}

// ---------------------------------------------------------------------------
// Other session classes.

// Implements no more than a session must.
class MinimalSession final : public CompilationSession {
 public:
  using CompilationSession::CompilationSession;
  std::vector<ActionSpace> getActionSpaces() const override { return std::vector<ActionSpace>(1); }
  std::vector<ObservationSpace> getObservationSpaces() const override { return {}; }
  grpc::Status init(const ActionSpace&, const Benchmark&) override {
    initialised_ = true;
    return grpc::Status::OK;
  }
  using CompilationSession::init;
  grpc::Status applyAction(const Event&, bool&, std::optional<ActionSpace>&, bool&) override {
    return initialised_ ? grpc::Status::OK : grpc::Status(StatusCode::INTERNAL, "no init");
  }
  grpc::Status computeObservation(const ObservationSpace&, Event&) override {
    return grpc::Status::OK;
  }

 private:
  bool initialised_ = false;
};

TEST(MinimalCompilerGymService, DefaultsOfCompilationSession) {
  CompilerGymService<MinimalSession> service(fs::temp_directory_path());
  const ToyClient client(&service);
  EXPECT_EQ(client.getVersion().reply.compiler_version(), "");
  EXPECT_EQ(client.start(makeBenchmark(kUri, ""), {}, 9).message(),
            "action_space(9) is not in range [0, 1)");
  const int64_t session = client.startOn("");
  EXPECT_TRUE(client.step(session, {"anything"}).ok());
  EXPECT_TRUE(client.fork(session).ok());
  EXPECT_EQ(client.send(session, {{"key", "value"}}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(service.sessionCount(), 2);
}

class UnusableSession final : public CompilationSession {
 public:
  explicit UnusableSession(const fs::path& workingDirectory)
      : CompilationSession(workingDirectory) {
    throw std::runtime_error("no compiler here");
  }
  std::vector<ActionSpace> getActionSpaces() const override { return {}; }
  std::vector<ObservationSpace> getObservationSpaces() const override { return {}; }
  grpc::Status init(const ActionSpace&, const Benchmark&) override { return grpc::Status::OK; }
  using CompilationSession::init;
  grpc::Status applyAction(const Event&, bool&, std::optional<ActionSpace>&, bool&) override {
    return grpc::Status::OK;
  }
  grpc::Status computeObservation(const ObservationSpace&, Event&) override {
    return grpc::Status::OK;
  }
};

TEST(MinimalCompilerGymService, SaysWhySessionsCannotBeMade) {
  try {
    const CompilerGymService<UnusableSession> service(fs::temp_directory_path());
    FAIL() << "expected an exception";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no compiler here"));
  }
}

TEST(MinimalCompilerGymService, UsesTheGivenCache) {
  auto cache = std::make_unique<BenchmarkCache>(12345);
  BenchmarkCache* const given = cache.get();
  CompilerGymService<MinimalSession> service(fs::temp_directory_path(), std::move(cache));
  EXPECT_EQ(&service.benchmarks(), given);
}

}  // namespace
}  // namespace compiler_gym::runtime
