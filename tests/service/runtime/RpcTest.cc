// The RPCs of a toy service. The rules that every service keeps are checked by
// tests/compliance/services_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/server/access/ServiceServer.h"
#include "tests/service/runtime/CompilerGymService.h"
#include "tests/service/runtime/ToyClient.h"
#include "tests/service/runtime/ToyForkServer.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using grpc::StatusCode;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using toy::ToyClient;

// Calls by gRPC.
class CompilerGymServiceTest : public ::testing::Test {
 protected:
  CompilerGymServiceTest() : service_(makeToySessions()) {
    EXPECT_THAT(ServiceServer::start(&service_, ServerOptions(), &server_), IsOk());
    client_.emplace(server_->port());
  }

  const ToyClient& client() const { return *client_; }

 private:
  CompilerGymService<toy::ToySession> service_;
  std::unique_ptr<ServiceServer> server_;
  std::optional<ToyClient> client_;
};

// The compiler judges whether a name is enough.
TEST_F(CompilerGymServiceTest, NameWithoutAProgram) {
  const Benchmark benchmark = makeBenchmark("benchmark://user-v0/name");
  EXPECT_THAT(client().start(benchmark).message(), HasSubstr("Benchmark not found"));
  ASSERT_TRUE(client().add({benchmark}).ok());
  EXPECT_THAT(client().start(benchmark).message(), HasSubstr("Cannot read the program"));
}

TEST_F(CompilerGymServiceTest, EndOfStepComesAfterTheObservationsOfEachStep) {
  const int64_t session = client().startOn("abc");
  const auto first = client().step(session, {"rotate", "rotate"}, {toy::kEndOfSteps});
  EXPECT_EQ(first.reply.observation(0).int64_value(), 0);
  const auto second = client().step(session, {}, {toy::kEndOfSteps});
  EXPECT_EQ(second.reply.observation(0).int64_value(), 1);
}

TEST_F(CompilerGymServiceTest, ObservationThatFailsIsToldFromAnActionThatIsRefused) {
  const int64_t session = client().startOn("aba");
  StepRequest request;
  request.set_session_id(session);
  request.add_action()->set_int64_value(toy::actionNumber("append-a"));
  request.add_action()->set_int64_value(toy::actionNumber("end-later"));
  request.add_observation_space(toy::kText);
  request.add_observation_space(toy::kFailing);
  request.set_has_observation_errors(true);
  const auto failed = client().step(request);
  ASSERT_THAT(failed.status, IsOk());
  EXPECT_EQ(failed.reply.observation_error().code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(failed.reply.observation_error().message(), HasSubstr("needs another text"));
  EXPECT_EQ(failed.reply.observation_size(), 0);
  EXPECT_FALSE(failed.reply.action_had_no_effect());
  EXPECT_TRUE(failed.reply.end_of_session());
  EXPECT_EQ(client().textOf(session), "abaa");
}

TEST_F(CompilerGymServiceTest, ObservationThatFailsEndsTheStepOfAFormerClient) {
  const int64_t session = client().startOn("aba");
  EXPECT_EQ(client().step(session, {"append-a"}, {toy::kFailing}).code(),
            StatusCode::FAILED_PRECONDITION);
  const auto observed = client().step(session, {}, {toy::kText, toy::kEndOfSteps});
  ASSERT_THAT(observed.status, IsOk());
  EXPECT_EQ(observed.reply.observation(0).string_value(), "abaa");
  EXPECT_EQ(observed.reply.observation(1).int64_value(), 1);
}

// Nobody knows what the program is after an action that has failed half-way.
TEST_F(CompilerGymServiceTest, SessionDoesNotGoOnAfterAFailure) {
  const int64_t session = client().startOn("abc");
  const int64_t other = client().startOn("other");
  EXPECT_THAT(client().step(session, {"append-a", "fail", "reverse"}, {toy::kText}).status,
              IsError(StatusCode::DATA_LOSS, "The action fail left the program invalid"));
  EXPECT_THAT(client().step(session, {"reverse"}, {toy::kText}).status,
              IsError(StatusCode::DATA_LOSS, "after an earlier failure: The action fail"));
  EXPECT_EQ(client().step(session, {}, {toy::kText}).code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(client().send(session, {{"toy.get_sleep_milliseconds", ""}}).code(),
            StatusCode::DATA_LOSS);
  const auto fork = client().fork(session);
  EXPECT_FALSE(fork.ok() && client().step(fork.reply.session_id(), {"reverse"}).ok());
  EXPECT_EQ(client().textOf(other), "other");
  EXPECT_TRUE(client().end(session).ok());
}

TEST_F(CompilerGymServiceTest, ParameterThatBreaksTheProgramEndsTheUseOfTheSession) {
  const int64_t session = client().startOn("abc");
  EXPECT_EQ(client().send(session, {{"toy.corrupt", ""}}).code(), StatusCode::DATA_LOSS);
  EXPECT_THAT(client().step(session, {"reverse"}, {toy::kText}).status,
              IsError(StatusCode::DATA_LOSS, "cannot continue after an earlier failure"));
  EXPECT_TRUE(client().end(session).ok());
}

// Implements no more than a session must.
class MinimalSession : public CompilationSession {
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
  EXPECT_THAT(client.start(makeBenchmark("uri", ""), {}, 9).message(),
              HasSubstr("action_space(9)"));
  const int64_t session = client.startOn("");
  EXPECT_TRUE(client.step(session, {"anything"}).ok());
  EXPECT_TRUE(client.fork(session).ok());
  EXPECT_EQ(client.send(session, {{"key", "value"}}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(service.sessionCount(), 2);
}

class UnusableSession final : public MinimalSession {
 public:
  explicit UnusableSession(const fs::path& workingDirectory) : MinimalSession(workingDirectory) {
    throw std::runtime_error("no compiler here");
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

}  // namespace
}  // namespace compiler_gym::runtime
