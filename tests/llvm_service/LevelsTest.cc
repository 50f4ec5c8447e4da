// Spelling of -Oz by the version of LLVM. Only the installed one can be run.
#include <gtest/gtest.h>

#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/passes/Levels.h"

namespace compiler_gym::llvm_service {
namespace {

TEST(LevelsTest, LevelsForSizeDifferFromTheOthers) {
  EXPECT_EQ(levelOf("Oz")->size, 2U);
  EXPECT_EQ(levelOf("Os")->size, 1U);
  for (const char* name : {"O1", "O2", "O3"}) {
    EXPECT_EQ(levelOf(name)->size, 0U) << name;
  }
  EXPECT_EQ(speedOf(levelOf("Oz")->pipeline), 2U);
  EXPECT_FALSE(levelOf("O0").has_value());
}

TEST(LevelsTest, Llvm22HasPipelinesForSize) {
  EXPECT_EQ(defaultPipeline("Oz", 22), "default<Oz>");
  EXPECT_EQ(baselinePipeline("Oz", 22), "default<Oz>");
  EXPECT_EQ(baselinePipeline("Os", 19), "default<Os>");
}

TEST(LevelsTest, FromLlvm23OnAttributesTakeTheirPlace) {
  EXPECT_EQ(defaultPipeline("Oz", 23), "default<O2>");
  EXPECT_EQ(baselinePipeline("Oz", 23), "mark-for-size<Oz>,default<O2>");
  EXPECT_EQ(baselinePipeline("Os", 23), "mark-for-size<Os>,default<O2>");
}

TEST(LevelsTest, OtherLevelsAreTheSameInEveryVersion) {
  for (unsigned version : {19U, 22U, 23U}) {
    EXPECT_EQ(defaultPipeline("O3", version), "default<O3>");
    EXPECT_EQ(baselinePipeline("O2", version), "default<O2>");
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
