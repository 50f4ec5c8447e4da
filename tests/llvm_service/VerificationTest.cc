// Tests of --verify. The service under test offers all of LLVM's passes, because one of them can
// break the module.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "llvm_service/Flags.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/LlvmClient.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::Status;
using grpc::StatusCode;

// LLVM has it for such tests: it puts an `unreachable` into the middle of a block.
constexpr char kBreakingPass[] = "function(trigger-verifier-error)";
constexpr char kProgram[] = "define i32 @f(i32 %a) {\n  %1 = mul i32 %a, 3\n  ret i32 %1\n}\n";

class VerificationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const TemporaryDirectory directory;
    const std::string policy = (directory.path() / "policy.yaml").string();
    std::ofstream(policy) << "{}\n";
    FLAGS_action_policy = policy;  // Read when the process makes its first session.
  }

  // Starts a session under the policy of that name, and breaks its module.
  int64_t startAndBreak(const std::string& verification, Status& status) {
    FLAGS_verify = verification;
    LlvmClient& client = this->client();
    const int64_t session = client.start(makeBenchmark(kProgram));
    StepRequest request;
    request.set_session_id(session);
    request.add_action()->set_int64_value(client.actionNumber(0, kBreakingPass));
    StepReply reply;
    status = client.tryStep(request, reply);
    return session;
  }

  Status tryObserve(int64_t session, const std::string& observation) {
    StepRequest request;
    request.set_session_id(session);
    request.add_observation_space(client().observationIndex(observation));
    StepReply reply;
    return client().tryStep(request, reply);
  }

  LlvmClient& client() {
    if (!client_) {
      client_ = std::make_unique<LlvmClient>();
    }
    return *client_;
  }

  const gflags::FlagSaver saver_;
  std::unique_ptr<LlvmClient> client_;
};

const auto isInvalid = IsError(StatusCode::DATA_LOSS, "LLVM's verifier rejects the module");

TEST_F(VerificationTest, AlwaysFailsTheAction) {
  Status status;
  const int64_t session = startAndBreak("always", status);
  EXPECT_THAT(status, isInvalid);
  EXPECT_THAT(tryObserve(session, "Ir"), isInvalid);
}

TEST_F(VerificationTest, AlwaysLetsGoodActionsPass) {
  FLAGS_verify = "always";
  const int64_t session = client().start(makeBenchmark(kernel("sha256")));
  EXPECT_TRUE(client().step(session, {client().actionNumber(0, "function(sroa)")}));
}

TEST_F(VerificationTest, ExportLetsTheActionPass) {
  Status status;
  const int64_t session = startAndBreak("export", status);
  EXPECT_THAT(status, IsOk());
  // Counting works on any module; these are the program's two instructions and the `unreachable`.
  EXPECT_EQ(client().number(session, "IrInstructionCount"), 3);
  EXPECT_EQ(client().observe(session, "InstCount").int64_tensor().value(0), 3);
  EXPECT_EQ(client().observe(session, "Autophase").int64_tensor().value(51), 3);
}

TEST_F(VerificationTest, ExportFailsObservationsThatExportTheModule) {
  Status status;
  const int64_t session = startAndBreak("export", status);
  for (const char* name : {"Ir", "IrSha1", "Bitcode", "BitcodeFile", "ObjectTextSizeBytes",
                           "TextSizeBytes", "Runtime", "Buildtime"}) {
    EXPECT_THAT(tryObserve(session, name), isInvalid) << name;
  }
  EXPECT_TRUE(boost::filesystem::is_empty(client().workingDirectory()));
  EXPECT_THAT(tryObserve(session, "Ir"), isInvalid) << "It is told each time";
  EXPECT_THAT(tryObserve(session, "IrInstructionCountOz"), IsOk()) << "It is of the program";
}

TEST_F(VerificationTest, NeverChecksNothing) {
  Status status;
  const int64_t session = startAndBreak("never", status);
  EXPECT_THAT(status, IsOk());
  EXPECT_THAT(tryObserve(session, "Ir"), IsOk());
  EXPECT_THAT(client().text(session, "Ir"), ::testing::HasSubstr("unreachable"));
}

TEST_F(VerificationTest, OtherPoliciesAreRefused) {
  EXPECT_EQ(gflags::SetCommandLineOption("verify", "sometimes"), "");
  EXPECT_EQ(FLAGS_verify, "export");
  EXPECT_NE(gflags::SetCommandLineOption("verify", "never"), "");
  EXPECT_EQ(gflags::SetCommandLineOption("action_policy", "/nonexistent/policy.yaml"), "");
}

}  // namespace
}  // namespace compiler_gym::llvm_service
