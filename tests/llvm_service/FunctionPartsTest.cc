#include <gtest/gtest.h>

#include <any>
#include <map>
#include <set>

#include "tests/llvm_service/RandomWalk.h"

namespace compiler_gym::llvm_service {
namespace {

// Tests that results reassembled from unchanged functions equal freshly computed ones.
TEST(FunctionPartsWalkTest, KeptPartsAreThoseOfTheProgram) {
  const std::set<std::string> inParts = {"Autophase",       "InstCount",    "Ir2vec",
                                         "Ir2vecFunctions", "Ir2vecBlocks", "Ir2vecInstructions"};
  std::map<std::string, std::any> kept;
  for (const Observation& observation : availableObservations()) {
    if (inParts.count(observation.space.name()) > 0) {
      kept[observation.space.name()];
    }
  }
  ASSERT_GE(kept.size(), 2u);
  const Compilation* current = nullptr;
  randomWalk(30, [&](Compilation& compilation, bool, const std::string& step) {
    const bool isNew = &compilation != current || compilation.history().size() == 1;
    current = &compilation;
    for (auto& [name, parts] : kept) {
      if (isNew) {
        parts.reset();
      }
      EXPECT_EQ(observe(compilation, name, RunCounts(), &parts).SerializeAsString(),
                observe(compilation, name).SerializeAsString())
          << name << " after " << step;
      EXPECT_TRUE(parts.has_value());
    }
    EXPECT_EQ(observe(compilation, "IrInstructionCount").int64_value(),
              static_cast<int64_t>(compilation.module().getInstructionCount()))
        << step;
  });
}

}  // namespace
}  // namespace compiler_gym::llvm_service
