#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/worker/GuardedCompiler.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "tests/Statuses.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

using grpc::Status;
using grpc::StatusCode;

// A session, one of whose methods throws.
class ThrowingSession final : public CompilationSession {
 public:
  ThrowingSession(const boost::filesystem::path& directory, std::string thrower)
      : CompilationSession(directory), thrower_(std::move(thrower)) {}

  std::vector<ActionSpace> getActionSpaces() const override { return {ActionSpace()}; }
  std::vector<ObservationSpace> getObservationSpaces() const override {
    ObservationSpace space;
    space.set_name("value");
    return {space};
  }

  Status init(const ActionSpace& /*actionSpace*/, const Benchmark& /*benchmark*/) override {
    return run("init");
  }
  bool forkable() const override { return run("forkable").ok(); }
  bool holdsOnlyMemory() const override { return run("holdsOnlyMemory").ok(); }
  Status afterFork() override { return run("afterFork"); }
  void afterReply() override { (void)run("afterReply"); }
  void beginStep(int /*actions*/) override { (void)run("beginStep"); }
  Status applyAction(const Event& /*action*/, bool& /*endOfEpisode*/,
                     std::optional<ActionSpace>& /*newActionSpace*/,
                     bool& /*actionHadNoEffect*/) override {
    return run("applyAction");
  }
  Status computeObservation(const ObservationSpace& /*space*/, Event& /*event*/) override {
    return run("computeObservation of value");
  }
  Status endOfStep(bool /*actionHadNoEffect*/, bool& /*endOfEpisode*/,
                   std::optional<ActionSpace>& /*newActionSpace*/) override {
    return run("endOfStep");
  }
  Status handleSessionParameter(const std::string& /*key*/, const std::string& /*value*/,
                                std::optional<std::string>& reply) override {
    reply = "";
    return run("handleSessionParameter");
  }
  Status saveReproducer(const Event& /*action*/,
                        const boost::filesystem::path& /*directory*/) override {
    return run("saveReproducer");
  }

 private:
  Status run(const std::string& name) const {
    RETURN_IF_ERROR(throwIf(name == thrower_));
    return Status::OK;
  }

  static Status throwIf(bool isThrown) {
    if (isThrown) throw std::runtime_error("thrown");
    return Status::OK;
  }

  const std::string thrower_;
};

class ExceptionTest : public ::testing::TestWithParam<const char*> {
 protected:
  ExceptionTest() : description_(ThrowingSession(directory_, "")) {
    EXPECT_TRUE(WorkerRecord::create(&record_).ok());
  }

  // Lets a session serve all requests. Returns the errors.
  std::vector<Status> serve(GuardedCompiler& session) const {
    StartSessionReply started;
    StepRequest step;
    step.add_action();
    step.add_observation_space(0);
    StepReply stepped;
    SendSessionParameterRequest parameter;
    parameter.add_parameter();
    SendSessionParameterReply reply;
    std::vector<Status> errors;
    for (const Status& status :
         {session.start(StartSessionRequest(), &started), session.step(step, &stepped),
          session.setParameters(parameter, &reply),
          session.saveReproducer(step.action(0), directory_)}) {
      if (!status.ok()) errors.push_back(status);
    }
    return errors;
  }

  std::unique_ptr<GuardedCompiler> makeSession() const {
    return std::make_unique<GuardedCompiler>(
        std::make_unique<ThrowingSession>(directory_, GetParam()), description_, *record_);
  }

  const boost::filesystem::path directory_ = boost::filesystem::temp_directory_path();
  const ServiceDescription description_;
  std::unique_ptr<WorkerRecord> record_;
};

TEST_P(ExceptionTest, BecomesAStatus) {
  const std::unique_ptr<GuardedCompiler> session = makeSession();
  const std::vector<Status> errors = serve(*session);
  ASSERT_FALSE(errors.empty());
  EXPECT_THAT(errors.front(), IsError(StatusCode::INTERNAL,
                                      std::string("Exception in ") + GetParam() + ": thrown"));
}

INSTANTIATE_TEST_SUITE_P(Method, ExceptionTest,
                         ::testing::Values("init", "beginStep", "applyAction",
                                           "computeObservation of value", "endOfStep",
                                           "handleSessionParameter", "saveReproducer"));

using ExceptionOutsideOfRequestsTest = ExceptionTest;

TEST_P(ExceptionOutsideOfRequestsTest, IsANo) {
  const std::unique_ptr<GuardedCompiler> session = makeSession();
  EXPECT_TRUE(serve(*session).empty());
  EXPECT_EQ(session->forkable(), GetParam() != std::string("forkable"));
  EXPECT_EQ(session->holdsOnlyMemory(), GetParam() != std::string("holdsOnlyMemory"));
  session->afterFork();
  session->afterReply();
  StepReply stepped;
  const Status status = session->step(StepRequest(), &stepped);
  if (GetParam() == std::string("afterFork")) {
    EXPECT_EQ(status.error_message(),
              "The copy of the session could not be set up: Exception in afterFork: thrown");
  } else if (GetParam() == std::string("afterReply")) {
    EXPECT_EQ(status.error_message(),
              "The session cannot continue after an earlier failure: Exception in afterReply: "
              "thrown");
  } else {
    EXPECT_THAT(status, IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(Method, ExceptionOutsideOfRequestsTest,
                         ::testing::Values("forkable", "holdsOnlyMemory", "afterFork",
                                           "afterReply"));

TEST(GuardedCompilerTest, ParametersThatAskAreNotPartOfTheHistory) {
  const boost::filesystem::path directory = boost::filesystem::temp_directory_path();
  const ServiceDescription description{toy::ToySession(directory)};
  std::unique_ptr<WorkerRecord> record;
  ASSERT_TRUE(WorkerRecord::create(&record).ok());
  GuardedCompiler session(std::make_unique<toy::ToySession>(directory), description, *record);
  const auto historyAfter = [&](const std::string& key) {
    SendSessionParameterRequest request;
    request.add_parameter()->set_key(key);
    request.mutable_parameter(0)->set_value("7");
    SendSessionParameterReply reply;
    EXPECT_TRUE(session.setParameters(request, &reply).ok());
    EXPECT_EQ(reply.reply_size(), 1);
    std::vector<HistoryEntry> history;
    EXPECT_TRUE(record->history(&history));
    return history.size();
  };
  EXPECT_EQ(historyAfter("toy.get_sleep_milliseconds"), 0u);
  EXPECT_EQ(historyAfter("toy.set_sleep_milliseconds"), 1u);
}

}  // namespace
}  // namespace compiler_gym::runtime
