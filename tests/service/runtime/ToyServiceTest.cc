// The toy service as a program: flags, files, signals and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "compiler_gym/util/Version.h"
#include "tests/Effort.h"
#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::runtime {
namespace {

namespace fs = boost::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using toy::makeBenchmark;
using util::ProcessResult;

TEST_F(ToyServiceTest, ServesUntilSigterm) {
  start();
  EXPECT_EQ(client_->getVersion().reply.service_version(), util::kVersion);
  const int64_t session = client_->startOn("abc");
  EXPECT_EQ(client_->step(session, {"reverse"}, {toy::kText}).reply.observation(0).string_value(),
            "cba");
  EXPECT_TRUE(client_->end(session).ok());
  // The client's connection is idle, and nobody waits for it.
  const ProcessResult result = stop();
  expectExit(result, 0);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.errorTail, "");
}

TEST_F(ToyServiceTest, EndsAfterALargeReply) {
  for (int i = 0; i < effort(2, 5); ++i) {
    start();
    const auto started =
        client_->start(makeBenchmark("uri", std::string(10 << 20, 'x')), {toy::kText});
    ASSERT_THAT(started.status, IsOk());
    EXPECT_TRUE(client_->end(started.reply.session_id()).ok());
    expectExit(stop(), 0);
  }
}

TEST_F(ToyServiceTest, LogsItsAddress) {
  start();
  // Before it ends: the line must not wait in a buffer.
  const fs::path log = working() / "logs" / (toyService().filename().string() + ".INFO");
  std::string text;
  for (int i = 0; i < 5000 && text.find("PID") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    text = contentsOf(log);
  }
  EXPECT_THAT(text, AllOf(HasSubstr(working().string()), HasSubstr("port " + std::to_string(port_)),
                          HasSubstr("PID = " + std::to_string(pid_))));
  expectExit(stop(), 0);
}

TEST_F(ToyServiceTest, DefaultWorkingDirectoryIsRemovedAfterAFailure) {
  expectExit(run({"--host=192.0.2.1"}), 1);
  expectExit(run({"--host=192.0.2.1", "--insecure"}), 1);
  EXPECT_TRUE(fs::is_empty(temporary()));
}

TEST_F(ToyServiceTest, OtherInterfacesAreRefused) {
  const ProcessResult result = run({"--host=0.0.0.0"});
  expectExit(result, 1);
  EXPECT_THAT(result.errorTail, AllOf(HasSubstr("ERROR: Other machines can reach --host=0.0.0.0"),
                                      HasSubstr("--token_file"), HasSubstr("--insecure")));
  start({"--host=0.0.0.0", "--insecure"});
  EXPECT_TRUE(client_->getVersion().ok());
  expectExit(stop(), 0);
}

TEST_F(ToyServiceTest, PortInUse) {
  start();
  const ProcessResult second = run({"--port=" + std::to_string(port_)});
  expectExit(second, 1);
  EXPECT_THAT(second.errorTail, HasSubstr("ERROR: Cannot listen on 127.0.0.1:"));
  EXPECT_TRUE(client_->getVersion().ok());
  expectExit(stop(), 0);
}

// gRPC refuses a message that is too large before the token can be checked by a handler.
TEST_F(ToyServiceTest, MessageOfAClientWithoutTheTokenIsNotRead) {
  const std::string tokenFile = (directory_ / "token").string();
  std::ofstream(tokenFile) << std::string(32, 't');
  boost::filesystem::permissions(tokenFile, boost::filesystem::owner_read);
  start({"--token_file=" + tokenFile, "--max_message_bytes=1000"});
  EXPECT_EQ(client_->start(makeBenchmark("uri", std::string(2000, 'x'))).code(),
            grpc::StatusCode::UNAUTHENTICATED);
  expectExit(stop(), 0);
}

struct BadArguments {
  const char* name;
  const char* argument;
  const char* message;
};

class BadArgumentsTest : public ToyServiceTest,
                         public ::testing::WithParamInterface<BadArguments> {};

TEST_P(BadArgumentsTest, ExitCode1AndAMessage) {
  const ProcessResult result = run({GetParam().argument});
  expectExit(result, 1);
  EXPECT_THAT(result.errorTail, AllOf(HasSubstr("ERROR: "), HasSubstr(GetParam().message)));
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(fs::is_empty(temporary()));
}

INSTANTIATE_TEST_SUITE_P(All, BadArgumentsTest,
                         ::testing::ValuesIn<BadArguments>({
                             {"PortEmpty", "--port=", "--port"},
                             {"Isolation", "--isolation=none", "--foreground"},
                             {"Limit", "--max_sessions=-1", "--max_sessions"},
                             {"Host", "--host=", "--host"},
                             {"TokenFile", "--token_file=/no/such", "/no/such"},
                             {"TlsCertificate", "--tls_certificate=file", "--tls_key"},
                             {"TlsClientCa", "--tls_client_ca=file", "--tls_client_ca"},
                             {"MessageLimit", "--max_message_bytes=-2", "-2"},
                             {"MessageLimitText", "--max_message_bytes=x", "max_message_bytes"},
                         }),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace compiler_gym::runtime
