// The toy service as a program: flags, files, signals and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/filesystem.hpp>
#include <string>

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

TEST_F(ToyServiceTest, LogsItsAddressAndPrintsNothing) {
  start();
  EXPECT_EQ(client_->getVersion().reply.service_version(), util::kVersion);
  // Before it ends: the line must not wait in a buffer.
  const fs::path log = working() / "logs" / (toyService().filename().string() + ".INFO");
  std::string text;
  eventually([&] { return (text = contentsOf(log)).find("PID") != std::string::npos; });
  EXPECT_THAT(text, AllOf(HasSubstr(working().string()), HasSubstr("port " + std::to_string(port_)),
                          HasSubstr("PID = " + std::to_string(pid_))));
  const ProcessResult result = stop();
  expectExit(result, 0);
  EXPECT_EQ(result.output + result.errorTail, "");
}

TEST_F(ToyServiceTest, DefaultWorkingDirectoryIsRemovedAfterAFailure) {
  expectExit(run({"--host=192.0.2.1"}), 1);
  expectExit(run({"--host=192.0.2.1", "--insecure"}), 1);
  EXPECT_TRUE(fs::is_empty(temporary()));
}

TEST_F(ToyServiceTest, PortInUse) {
  start();
  const ProcessResult second = run({"--port=" + std::to_string(port_)});
  expectExit(second, 1);
  EXPECT_THAT(second.errorTail, HasSubstr("ERROR: Cannot listen on 127.0.0.1:"));
  EXPECT_TRUE(client_->getVersion().ok());
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
