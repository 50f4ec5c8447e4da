#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm_service/actions/Policy.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Policy parse(const std::string& yaml) {
  llvm::Expected<Policy> policy = Policy::parse(yaml);
  if (!policy) {
    ADD_FAILURE() << llvm::toString(policy.takeError());
    return {};
  }
  return *policy;
}

std::string errorOf(const std::string& yaml) {
  llvm::Expected<Policy> policy = Policy::parse(yaml);
  return policy ? "" : llvm::toString(policy.takeError());
}

TEST(PolicyTest, ExcludesByNameAndWildcard) {
  const Policy policy = parse(R"(
exclude:
  - reason: these print
    passes: ['print<*', view-*, lint]
  - reason: these crash
    passes: [attributor, 'loop-?']
)");
  EXPECT_EQ(policy.exclusionReason("lint"), "these print");
  EXPECT_EQ(policy.exclusionReason("print<loops>"), "these print");
  EXPECT_EQ(policy.exclusionReason("view-cfg"), "these print");
  EXPECT_EQ(policy.exclusionReason("loop-x"), "these crash");
  EXPECT_EQ(policy.exclusionReason("loop-xy"), std::nullopt);
  EXPECT_EQ(policy.exclusionReason("attributor-cgscc"), std::nullopt);
  EXPECT_EQ(policy.exclusionReason("print"), std::nullopt);
}

TEST(PolicyTest, TheFirstReasonWins) {
  const Policy policy = parse(R"(
exclude:
  - {reason: first, passes: [a]}
  - {reason: second, passes: [a, b]}
)");
  EXPECT_EQ(policy.exclusionReason("a"), "first");
  EXPECT_EQ(policy.exclusionReason("b"), "second");
}

TEST(PolicyTest, VerifiesAfterPasses) {
  const Policy policy = parse("verify: [{reason: seen, passes: [a, 'b*']}]");
  EXPECT_TRUE(policy.mayBreakModules("a"));
  EXPECT_TRUE(policy.mayBreakModules("bc"));
  EXPECT_FALSE(policy.mayBreakModules("c"));
  EXPECT_EQ(policy.exclusionReason("a"), std::nullopt);
}

TEST(PolicyTest, SpellsPasses) {
  const Policy policy = parse(R"(
spell:
  - {pass: instcombine, as: instcombine<no-verify-fixpoint>, reason: it ends the process}
memory_ssa_loop_passes: [licm]
variants:
  - {pass: gvn, parameters: [no-pre, no-load-pre;memoryssa]}
)");
  EXPECT_EQ(policy.spelling("instcombine"), "instcombine<no-verify-fixpoint>");
  EXPECT_EQ(policy.spelling("gvn"), "gvn");
  EXPECT_TRUE(policy.needsMemorySSA("licm"));
  EXPECT_FALSE(policy.needsMemorySSA("loop-rotate"));
  EXPECT_THAT(policy.variants("gvn"), ElementsAre("no-pre", "no-load-pre;memoryssa"));
  EXPECT_THAT(policy.variants("licm"), IsEmpty());
}

TEST(PolicyTest, ErrorsNameTheLine) {
  EXPECT_THAT(errorOf("memory_ssa_loop_passes: []\nexclud:\n  - {reason: x, passes: [a]}\n"),
              AllOf(HasSubstr("YAML:2:"), HasSubstr("exclud")));
  EXPECT_THAT(errorOf("exclude:\n  - passes: [a]\n"),
              AllOf(HasSubstr("YAML:2:"), HasSubstr("reason")));
  EXPECT_THAT(errorOf("[1, 2]\n"), HasSubstr("YAML:1:"));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
