// A service with --foreground, as for a debugger: the session is in the process that was started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <string>

#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using util::ProcessResult;

class ForegroundTest : public IsolatedServiceTest {
 protected:
  ForegroundTest() {
    start({"--foreground"});
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string ignored;
    file >> ignored >> ignored >> ignored >> foreground_;
  }

  // Ends the process that was started, as Ctrl-C or its parent does.
  ProcessResult stopForeground(int signal = SIGTERM) {
    kill(foreground_, signal);
    return ended_.get();
  }

  void expectServiceIsGone() const {
    EXPECT_TRUE(eventually([this] { return isGone(pid_); }));
    EXPECT_FALSE(boost::filesystem::exists(working() / "port.txt"));
  }

  pid_t foreground_ = 0;
};

TEST_F(ForegroundTest, ServesOneSessionAfterTheOther) {
  for (int i = 0; i < 3; ++i) expectServes();
  const int64_t session = client().startOn("abc");
  EXPECT_EQ(client().textOf(session), "abc");
  // There is the service and nothing else.
  EXPECT_THAT(descendantsOf(foreground_), ElementsAre(pid_));
  EXPECT_TRUE(client().end(session).ok());
  expectExit(stop(), 0);
  expectServiceIsGone();
}

TEST_F(ForegroundTest, RefusesASecondSession) {
  const int64_t session = client().startOn("abc");
  const auto second = client().start(makeBenchmark("benchmark://toy-v0/other", "other"));
  const auto forked = client().fork(session);
  for (const grpc::Status& status : {second.status, forked.status}) {
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("Expected one session at a time"), HasSubstr("--foreground")));
  }
  EXPECT_EQ(client().textOf(session), "abc");
  EXPECT_TRUE(client().end(session).ok());
  expectServes();
  expectExit(stop(), 0);
}

TEST_F(ForegroundTest, FailedStartLeavesRoom) {
  EXPECT_EQ(client().start(makeBenchmark("uri", "unacceptable")).code(),
            StatusCode::INVALID_ARGUMENT);
  expectServes();
  expectExit(stop(), 0);
}

TEST_F(ForegroundTest, PassesSignalsOn) {
  const int64_t session = client().startOn("abc");
  EXPECT_EQ(client().textOf(session), "abc");
  expectExit(stopForeground(SIGINT), 6);
  expectServiceIsGone();
}

TEST_F(ForegroundTest, CrashIsThatOfTheStartedProcess) {
  const int64_t session = client().startOn("abc");
  const auto crashed = client().step(session, {"abort"});
  // The service ends with the process, perhaps before it has told.
  EXPECT_TRUE(crashed.code() == StatusCode::ABORTED || crashed.code() == StatusCode::UNAVAILABLE)
      << crashed.message();
  const ProcessResult result = ended_.get();
  EXPECT_EQ(result.end, ProcessResult::End::kSignalled);
  EXPECT_EQ(result.code, SIGABRT);
  EXPECT_THAT(result.output + result.errorTail, HasSubstr("toy: giving up"));
  expectServiceIsGone();
}

TEST_F(ForegroundTest, EndsDuringAStep) {
  const int64_t session = client().startOn("abc");
  auto step =
      std::async(std::launch::async, [&] { return client().step(session, {"hang"}).code(); });
  awaitAsleep();
  const ProcessResult result = stopForeground();
  EXPECT_EQ(result.end, ProcessResult::End::kSignalled);
  EXPECT_NE(step.get(), StatusCode::OK);
  expectServiceIsGone();
}

TEST_F(ForegroundTest, EndsDuringTheStartOfASession) {
  auto start = std::async(std::launch::async, [&] {
    return client().start(makeBenchmark("benchmark://toy-v0/abc", "awaited")).code();
  });
  awaitAsleep();
  EXPECT_EQ(stopForeground().end, ProcessResult::End::kSignalled);
  EXPECT_NE(start.get(), StatusCode::OK);
  expectServiceIsGone();
}

}  // namespace
}  // namespace compiler_gym::runtime
