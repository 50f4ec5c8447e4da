// Versions, spaces, and the start of sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "compiler_gym/util/Version.h"
#include "tests/service/runtime/CompilerGymServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using toy::ToySession;

INSTANTIATE_TEST_SUITE_P(Settings, CompilerGymServiceTest,
                         ::testing::Values(Setting::kCalls, Setting::kGrpc), [](const auto& info) {
                           return info.param == Setting::kCalls ? "Calls" : "Grpc";
                         });

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
  EXPECT_EQ(sessionCount(), 2);
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
  EXPECT_NE(benchmarks().find(kUri), nullptr);
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

// The compiler judges whether a name is enough.
TEST_P(CompilerGymServiceTest, NameWithoutAProgram) {
  const Benchmark benchmark = makeBenchmark("benchmark://user-v0/name");
  EXPECT_THAT(client().start(benchmark).message(), HasSubstr("Benchmark not found"));
  ASSERT_TRUE(client().add({benchmark}).ok());
  EXPECT_THAT(client().start(benchmark).message(), HasSubstr("Cannot read the program"));
}

TEST_P(CompilerGymServiceTest, BadBenchmarkMeansNoneIsAdded) {
  Benchmark emptyProgramUri = makeBenchmark("c");
  emptyProgramUri.mutable_program()->set_uri("");
  for (const Benchmark& bad : {makeBenchmark("", "abc"), emptyProgramUri}) {
    const auto answer = client().add({makeBenchmark(kUri, "abc"), bad});
    EXPECT_EQ(answer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(benchmarks().size(), 0);
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
  EXPECT_EQ(sessionCount(), 0);
}

TEST_P(CompilerGymServiceTest, FailedStartLeavesNoSession) {
  EXPECT_EQ(client().start(makeBenchmark(kUri, "unacceptable")).code(),
            StatusCode::INVALID_ARGUMENT);
  const auto thrown = client().start(makeBenchmark(kUri, "explosive"));
  EXPECT_EQ(thrown.code(), StatusCode::INTERNAL);
  EXPECT_EQ(thrown.message(), "Exception in init: the program exploded");
  EXPECT_EQ(client().start(makeBenchmark(kUri, "abc"), {toy::kFailing}).code(),
            StatusCode::INTERNAL);
  EXPECT_EQ(sessionCount(), 0);
  EXPECT_EQ(client().startOn("abc"), 0);
}

}  // namespace
}  // namespace compiler_gym::runtime
