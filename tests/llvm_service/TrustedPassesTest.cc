#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Instruction.h"
#include "llvm_service/TrustedPasses.h"
#include "tests/llvm_service/ChangeTrackerFixture.h"

namespace compiler_gym::llvm_service {
namespace {

using namespace llvm;
using ::testing::ElementsAre;

// The tracker as it is told of one pass that changes @f and says whether it has.
class TrustTest : public ChangeTrackerTest {
 protected:
  void SetUp() override {
    ChangeTrackerTest::SetUp();
    tracker_.emplace(module(), &trusted_);
  }

  bool seesChangeBy(StringRef pass, bool claimsNoChange) {
    tracker_->passDone(pass, claimsNoChange);
    instruction(f(), 0).setHasNoUnsignedWrap(!instruction(f(), 0).hasNoUnsignedWrap());
    tracker_->functionDone(f());
    return tracker_->update(module()).changed;
  }

  StringSet<> trusted_ = {"HonestPass"};
};

TEST_F(TrustTest, ClaimsOfTrustedPassesAreBelieved) {
  tracker_->follow();
  EXPECT_FALSE(seesChangeBy("HonestPass", /*claimsNoChange=*/true));
}

TEST_F(TrustTest, ClaimsOfOtherPassesAreVerified) {
  for (const char* pass : {"HonestPass", "OtherPass"}) {
    tracker_->follow();
    EXPECT_TRUE(seesChangeBy(pass, /*claimsNoChange=*/false)) << pass;
  }
  tracker_->follow();
  EXPECT_TRUE(seesChangeBy("OtherPass", /*claimsNoChange=*/true));
}

TEST_F(TrustTest, OneOtherPassIsEnoughToLook) {
  for (const bool isFirst : {true, false}) {
    tracker_->follow();
    tracker_->passDone(isFirst ? "OtherPass" : "HonestPass", /*claimsNoChange=*/true);
    EXPECT_TRUE(seesChangeBy(isFirst ? "HonestPass" : "OtherPass", /*claimsNoChange=*/true));
  }
}

TEST_F(TrustTest, NothingIsBelievedUnlessFollowed) {
  EXPECT_TRUE(seesChangeBy("HonestPass", /*claimsNoChange=*/true));
}

TEST_F(TrustTest, EachElementIsJudgedByItsOwnPasses) {
  tracker_->follow();
  tracker_->passDone("OtherPass", /*claimsNoChange=*/true);
  tracker_->moduleDone();
  EXPECT_TRUE(seesChangeBy("HonestPass", /*claimsNoChange=*/true));
}

TEST_F(TrustTest, OtherFunctionsAreLookedAt) {
  tracker_->follow();
  tracker_->passDone("HonestPass", /*claimsNoChange=*/true);
  tracker_->functionDone(g());
  EXPECT_TRUE(seesChangeBy("HonestPass", /*claimsNoChange=*/false));
  EXPECT_THAT(tracker_->lastChange().functionsChanged, ElementsAre("f"));
}

TEST(TrustedPassesTest, NeedsManyClaimsOfWhichNoneIsFalse) {
  constexpr char kRecorded[] = R"(# LLVM 1.2.3, 9 episodes, seed 7
# pass claims false
FewPass 99999 0
GoodPass 100000 0
LyingPass 100000 1
compiler_gym::OwnPass 100000 0
)";
  const StringSet<> trusted = parseTrustedPasses(kRecorded, "1.2.3");
  EXPECT_EQ(trusted.size(), 1u);
  EXPECT_TRUE(trusted.contains("GoodPass"));
  EXPECT_TRUE(parseTrustedPasses(kRecorded, "1.2.4").empty());
}

TEST(TrustedPassesTest, PassesKnownToClaimFalselyAreNotTrusted) {
  for (const char* pass :
       {"IRCEPass", "InferAlignmentPass", "IPSCCPPass", "SCCPPass", "DeadArgumentEliminationPass",
        "AttributorLightPass", "InstCombinePass", "IndVarSimplifyPass", "PartialInlinerPass"}) {
    EXPECT_FALSE(trustedPasses().contains(pass)) << pass;
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
