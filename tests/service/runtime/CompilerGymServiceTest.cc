// Each test runs twice: with calls of the service's methods, and through a gRPC server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/CompilerGymService.h"
#include "compiler_gym/service/runtime/ServiceServer.h"
#include "compiler_gym/util/Version.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using toy::makeBenchmark;
using toy::ToyClient;
using toy::ToySession;

constexpr char kUri[] = "benchmark://toy-v0/program";

class CompilerGymServiceTest : public ::testing::TestWithParam<bool> {
 protected:
  CompilerGymServiceTest() : service_(fs::temp_directory_path()) {
    if (GetParam()) {
      const grpc::Status status = ServiceServer::start(&service_, "127.0.0.1", 0, -1, &server_);
      EXPECT_TRUE(status.ok()) << status.error_message();
      client_.emplace(server_->port());
    } else {
      client_.emplace(&service_);
    }
  }

  const ToyClient& client() const { return *client_; }

  CompilerGymService<ToySession> service_;
  std::unique_ptr<ServiceServer> server_;
  std::optional<ToyClient> client_;
};

INSTANTIATE_TEST_SUITE_P(Transport, CompilerGymServiceTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Grpc" : "Direct"; });

TEST_P(CompilerGymServiceTest, GetVersion) {
  const auto answer = client().getVersion();
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.service_version(), util::kVersion);
  EXPECT_EQ(answer.reply.compiler_version(), "toy 1.0");
}

TEST_P(CompilerGymServiceTest, GetSpaces) {
  const auto answer = client().getSpaces();
  ASSERT_TRUE(answer.ok()) << answer.message();
  const ToySession session(fs::temp_directory_path());
  ASSERT_EQ(answer.reply.action_space_list_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(answer.reply.action_space_list(i).DebugString(),
              session.getActionSpaces()[i].DebugString());
  }
  ASSERT_EQ(answer.reply.observation_space_list_size(), toy::kObservationCount);
  for (int i = 0; i < toy::kObservationCount; ++i) {
    EXPECT_EQ(answer.reply.observation_space_list(i).DebugString(),
              session.getObservationSpaces()[i].DebugString());
  }
}

// ---------------------------------------------------------------------------
// StartSession and AddBenchmark.

TEST_P(CompilerGymServiceTest, StartComputesObservationsInRequestOrder) {
  const auto answer = client().start(
      makeBenchmark(kUri, "abca"),
      {toy::kLength, toy::kText, toy::kLength, toy::kHistogram, toy::kBytes, toy::kRatios});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.session_id(), 0);
  EXPECT_FALSE(answer.reply.has_new_action_space());
  ASSERT_EQ(answer.reply.observation_size(), 6);
  EXPECT_EQ(answer.reply.observation(0).int64_value(), 4);
  EXPECT_EQ(answer.reply.observation(1).string_value(), "abca");
  EXPECT_EQ(answer.reply.observation(2).int64_value(), 4);
  ASSERT_EQ(answer.reply.observation(3).int64_tensor().value_size(), 26);
  EXPECT_EQ(answer.reply.observation(3).int64_tensor().value(0), 2);
  EXPECT_EQ(answer.reply.observation(4).byte_tensor().value(), "abca");
  EXPECT_THAT(answer.reply.observation(5).double_tensor().value(), ElementsAre(0.5, 0.25, 0.25));
}

TEST_P(CompilerGymServiceTest, SessionsAreNumberedFromZero) {
  EXPECT_EQ(client().startOn("a"), 0);
  EXPECT_EQ(client().startOn("b"), 1);
  EXPECT_EQ(service_.sessionCount(), 2);
  EXPECT_TRUE(client().end(1).ok());
  EXPECT_EQ(client().startOn("c"), 2) << "a number was used again";
}

TEST_P(CompilerGymServiceTest, StartUsesTheActionSpace) {
  const auto started = client().start(makeBenchmark(kUri, "abc"), {}, 1);
  ASSERT_TRUE(started.ok()) << started.message();
  StepRequest request;
  request.set_session_id(started.reply.session_id());
  request.add_action()->set_string_value("def");
  ASSERT_TRUE(client().step(request).ok());
  EXPECT_EQ(client().textOf(started.reply.session_id()), "abcdef");
}

TEST_P(CompilerGymServiceTest, StartOnAnUnknownBenchmark) {
  const auto answer = client().start(makeBenchmark(kUri));
  EXPECT_EQ(answer.code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(answer.message(), "Benchmark not found: \"benchmark://toy-v0/program\"");
}

TEST_P(CompilerGymServiceTest, StartOnAnAddedBenchmark) {
  ASSERT_TRUE(client().add({makeBenchmark(kUri, "abc"), makeBenchmark("b", "xyz")}).ok());
  const auto answer = client().start(makeBenchmark(kUri), {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.observation(0).string_value(), "abc");
  EXPECT_TRUE(client().start(makeBenchmark("b")).ok());
}

TEST_P(CompilerGymServiceTest, InlineBenchmarkIsAdded) {
  ASSERT_TRUE(client().start(makeBenchmark(kUri, "abc")).ok());
  EXPECT_NE(service_.benchmarks().find(kUri), nullptr);
  EXPECT_TRUE(client().start(makeBenchmark(kUri)).ok());
}

TEST_P(CompilerGymServiceTest, AddReplacesButSessionsKeepTheirs) {
  ASSERT_TRUE(client().add({makeBenchmark(kUri, "old")}).ok());
  const auto before = client().start(makeBenchmark(kUri));
  ASSERT_TRUE(client().add({makeBenchmark(kUri, "new")}).ok());
  const auto after = client().start(makeBenchmark(kUri));
  EXPECT_EQ(client().textOf(before.reply.session_id()), "old");
  EXPECT_EQ(client().textOf(after.reply.session_id()), "new");
}

TEST_P(CompilerGymServiceTest, ProgramFromAFile) {
  const fs::path path = fs::temp_directory_path() / fs::unique_path();
  std::ofstream(path.string()) << "from a file";
  Benchmark benchmark = makeBenchmark(kUri);
  benchmark.mutable_program()->set_uri("file://" + path.string());
  const auto answer = client().start(benchmark, {toy::kText});
  fs::remove(path);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.observation(0).string_value(), "from a file");
}

TEST_P(CompilerGymServiceTest, EmptyUri) {
  for (const Benchmark& benchmark : {makeBenchmark(""), makeBenchmark("", "abc")}) {
    const auto answer = client().start(benchmark);
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(answer.message(), HasSubstr("URI"));
  }
}

TEST_P(CompilerGymServiceTest, BadBenchmarkMeansNoneIsAdded) {
  Benchmark emptyProgramUri = makeBenchmark("c");
  emptyProgramUri.mutable_program()->set_uri("");
  for (const Benchmark& bad : {makeBenchmark("", "abc"), makeBenchmark("b"), emptyProgramUri}) {
    const auto answer = client().add({makeBenchmark(kUri, "abc"), bad});
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(service_.benchmarks().size(), 0);
  }
}

TEST_P(CompilerGymServiceTest, StartWithIndicesOutOfRange) {
  const Benchmark benchmark = makeBenchmark(kUri, "abc");
  for (const int32_t index : {-1, 2}) {
    const auto answer = client().start(benchmark, {}, index);
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(answer.message(),
              "action_space(" + std::to_string(index) + ") is not in range [0, 2)");
  }
  for (const int32_t index : {-1, 9}) {
    const auto answer = client().start(benchmark, {toy::kText, index});
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(answer.message(),
              "observation_space(" + std::to_string(index) + ") is not in range [0, 9)");
  }
  EXPECT_EQ(service_.sessionCount(), 0);
}

TEST_P(CompilerGymServiceTest, FailedStartLeavesNoSession) {
  EXPECT_EQ(client().start(makeBenchmark(kUri, "unacceptable")).code(),
            StatusCode::INVALID_ARGUMENT);
  const auto thrown = client().start(makeBenchmark(kUri, "explosive"));
  EXPECT_EQ(thrown.code(), StatusCode::INTERNAL);
  EXPECT_EQ(thrown.message(), "Exception in init: the program exploded");
  EXPECT_EQ(client().start(makeBenchmark(kUri, "abc"), {toy::kFailing}).code(),
            StatusCode::INTERNAL);
  EXPECT_EQ(service_.sessionCount(), 0);
  EXPECT_EQ(client().startOn("abc"), 0);
}

// ---------------------------------------------------------------------------
// Step.

TEST_P(CompilerGymServiceTest, ActionsAreAppliedInOrder) {
  const int64_t session = client().startOn("abc");
  const auto answer =
      client().step(session, {"reverse", "append-a", "rotate", "uppercase"}, {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.reply.observation(0).string_value(), "BAAC");
  EXPECT_FALSE(answer.reply.end_of_session());
  EXPECT_FALSE(answer.reply.action_had_no_effect());
  EXPECT_FALSE(answer.reply.has_new_action_space());
}

TEST_P(CompilerGymServiceTest, NoEffectIsToldOfTheWholeStep) {
  const int64_t session = client().startOn("ABC");
  EXPECT_TRUE(client().step(session, {}).reply.action_had_no_effect());
  EXPECT_TRUE(client().step(session, {"no-op", "uppercase"}).reply.action_had_no_effect());
  EXPECT_FALSE(client().step(session, {"no-op", "rotate"}).reply.action_had_no_effect());
  EXPECT_FALSE(client().step(session, {"rotate", "no-op"}).reply.action_had_no_effect());
}

TEST_P(CompilerGymServiceTest, RepeatedObservationIsComputedOnce) {
  const int64_t session = client().startOn("abc");
  const auto answer =
      client().step(session, {}, {toy::kCounter, toy::kLength, toy::kCounter, toy::kCounter});
  ASSERT_TRUE(answer.ok()) << answer.message();
  std::vector<int64_t> values;
  for (const Event& event : answer.reply.observation()) values.push_back(event.int64_value());
  EXPECT_THAT(values, ElementsAre(1, 3, 1, 1));
  EXPECT_EQ(client().step(session, {}, {toy::kCounter}).reply.observation(0).int64_value(), 2);
}

TEST_P(CompilerGymServiceTest, ActionsStopAtTheEndOfTheEpisode) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"append-a", "end", "reverse"}, {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_TRUE(answer.reply.end_of_session());
  EXPECT_EQ(answer.reply.observation(0).string_value(), "abca");

  const auto refused = client().step(session, {"reverse"});
  EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.message(), HasSubstr("has reached its end"));

  const auto observed = client().step(session, {}, {toy::kText});
  ASSERT_TRUE(observed.ok()) << observed.message();
  EXPECT_TRUE(observed.reply.end_of_session());
  EXPECT_EQ(observed.reply.observation(0).string_value(), "abca");
  EXPECT_TRUE(client().end(session).ok());
}

TEST_P(CompilerGymServiceTest, EndOfStepComesAfterTheObservationsOfEachStep) {
  const int64_t session = client().startOn("abc");
  const auto first = client().step(session, {"rotate", "rotate"}, {toy::kEndOfSteps});
  EXPECT_EQ(first.reply.observation(0).int64_value(), 0);
  const auto second = client().step(session, {}, {toy::kEndOfSteps});
  EXPECT_EQ(second.reply.observation(0).int64_value(), 1);
}

TEST_P(CompilerGymServiceTest, EndOfStepCanEndTheEpisode) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"end-later", "rotate"}, {toy::kText});
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_TRUE(answer.reply.end_of_session());
  EXPECT_EQ(answer.reply.observation(0).string_value(), "bca");
  EXPECT_EQ(client().step(session, {"rotate"}).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_P(CompilerGymServiceTest, EndOfStepCanFailTheStep) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"append-a", "corrupt"}, {toy::kText});
  EXPECT_EQ(answer.code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(answer.message(), "The text is corrupt");
}

TEST_P(CompilerGymServiceTest, NewActionSpace) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().step(session, {"restrict", "rotate"});
  ASSERT_TRUE(answer.ok()) << answer.message();
  ASSERT_TRUE(answer.reply.has_new_action_space());
  EXPECT_THAT(answer.reply.new_action_space().space().named_discrete().name(),
              ElementsAre("uppercase", "reverse", "rotate", "append-a", "no-op"));
  EXPECT_EQ(client().step(session, {"end"}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_FALSE(client().step(session, {"rotate"}).reply.has_new_action_space());
}

TEST_P(CompilerGymServiceTest, FailedActionKeepsThoseBeforeIt) {
  const int64_t session = client().startOn("abc");
  const auto failed = client().step(session, {"append-a", "fail", "reverse"}, {toy::kText});
  EXPECT_EQ(failed.code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(failed.message(), "The action fail left the program invalid");
  EXPECT_EQ(client().textOf(session), "abca");
}

TEST_P(CompilerGymServiceTest, ExceptionsBecomeInternalErrors) {
  const int64_t session = client().startOn("abc");
  const auto action = client().step(session, {"throw"});
  EXPECT_EQ(action.code(), StatusCode::INTERNAL);
  EXPECT_EQ(action.message(), "Exception in applyAction: thrown by the action");
  const auto observation = client().step(session, {}, {toy::kThrowing});
  EXPECT_EQ(observation.code(), StatusCode::INTERNAL);
  EXPECT_EQ(observation.message(),
            "Exception in computeObservation of throwing: thrown by the observation");
  const auto parameter = client().send(session, {{"toy.throw", "thrown text"}});
  EXPECT_EQ(parameter.code(), StatusCode::INTERNAL);
  EXPECT_THAT(parameter.message(), HasSubstr("thrown text"));
  EXPECT_EQ(client().textOf(session), "abc");
}

TEST_P(CompilerGymServiceTest, BadRequestsChangeNothing) {
  const int64_t session = client().startOn("abc");
  EXPECT_EQ(client().step(session, {"reverse"}, {9}).message(),
            "observation_space(9) is not in range [0, 9)");
  EXPECT_EQ(client().step(session, {"reverse"}, {-1}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client().textOf(session), "abc");
  EXPECT_EQ(client().step(session, {"no such action"}).code(), StatusCode::INVALID_ARGUMENT);
  StepRequest empty;
  empty.set_session_id(session);
  empty.add_action();
  EXPECT_EQ(client().step(empty).code(), StatusCode::INVALID_ARGUMENT);
}

// ---------------------------------------------------------------------------
// ForkSession and EndSession.

TEST_P(CompilerGymServiceTest, ForkIsEqualAndIndependent) {
  const int64_t session = client().startOn("abc");
  ASSERT_TRUE(client().step(session, {"append-a"}).ok());
  const auto forked = client().fork(session);
  ASSERT_TRUE(forked.ok()) << forked.message();
  const int64_t copy = forked.reply.session_id();
  EXPECT_NE(copy, session);
  EXPECT_EQ(service_.sessionCount(), 2);
  EXPECT_EQ(client().textOf(copy), "abca");

  ASSERT_TRUE(client().step(copy, {"reverse"}).ok());
  EXPECT_EQ(client().textOf(session), "abca");
  ASSERT_TRUE(client().end(session).ok());
  EXPECT_EQ(client().textOf(copy), "acba");
}

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
  EXPECT_EQ(service_.sessionCount(), 0);
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
  const size_t size = service_.benchmarks().sizeInBytes();
  ASSERT_GT(size, 0);
  EXPECT_THAT(client().send(session, {{kGetSize, ""}}).reply.reply(),
              ElementsAre(std::to_string(size)));
  // More than 32 bits.
  EXPECT_THAT(
      client().send(session, {{kSetMaxSize, "5000000000"}, {kGetMaxSize, ""}}).reply.reply(),
      ElementsAre("5000000000", "5000000000"));
  EXPECT_EQ(service_.benchmarks().size(), 1);
  EXPECT_THAT(client().send(session, {{kSetMaxSize, "1"}, {kGetSize, ""}}).reply.reply(),
              ElementsAre("1", "0"));
  EXPECT_EQ(service_.benchmarks().size(), 0);
  EXPECT_EQ(client().textOf(session), "abc");
}

TEST_P(CompilerGymServiceTest, MalformedCacheSizes) {
  const int64_t session = client().startOn("abc");
  for (const char* value : {"", "-1", "12x", " 12", "1.5", "twelve", "9223372036854775808"}) {
    const auto answer = client().send(session, {{kSetMaxSize, value}});
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT) << value;
    EXPECT_THAT(answer.message(), HasSubstr(std::string("not \"") + value + "\""));
  }
  EXPECT_EQ(service_.benchmarks().maxSizeInBytes(), kEvictionSizeInBytes);
}

TEST_P(CompilerGymServiceTest, UnknownParameterKeepsThoseBeforeIt) {
  const int64_t session = client().startOn("abc");
  const auto answer = client().send(
      session, {{"toy.set_sleep_milliseconds", "3"}, {"unknown.key", ""}, {kSetMaxSize, "1"}});
  EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.message(), StartsWith("Unknown session parameter \"unknown.key\""));
  EXPECT_THAT(client().send(session, {{"toy.get_sleep_milliseconds", ""}}).reply.reply(),
              ElementsAre("3"));
  EXPECT_EQ(service_.benchmarks().maxSizeInBytes(), kEvictionSizeInBytes);
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
  EXPECT_EQ(client.fork(session).code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(client.send(session, {{"key", "value"}}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(service.sessionCount(), 1);
}

TEST(MinimalCompilerGymService, UsesTheGivenCache) {
  auto cache = std::make_unique<BenchmarkCache>(12345);
  BenchmarkCache* const given = cache.get();
  CompilerGymService<MinimalSession> service(fs::temp_directory_path(), std::move(cache));
  EXPECT_EQ(&service.benchmarks(), given);
}

}  // namespace
}  // namespace compiler_gym::runtime
