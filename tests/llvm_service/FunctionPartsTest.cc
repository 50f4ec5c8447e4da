#include <gtest/gtest.h>

#include <any>
#include <map>

#include "tests/llvm_service/RandomWalk.h"
#include "tests/llvm_service/Statuses.h"

namespace compiler_gym::llvm_service {
namespace {

// What is put together from functions that have not changed is what it would be anew.
TEST(FunctionPartsWalkTest, KeptPartsAreThoseOfTheProgram) {
  std::map<std::string, Observation> observations;
  for (Observation& observation : listObservations()) {
    const std::string name = observation.space.name();
    if (name == "Autophase" || name == "InstCount") {
      observations.emplace(name, std::move(observation));
    }
  }
  ASSERT_EQ(observations.size(), 2u);
  std::map<std::string, std::any> kept;
  const Compilation* current = nullptr;
  randomWalk(30, [&](Compilation& compilation, bool, const std::string& step) {
    if (&compilation != current || compilation.history().size() == 1) {
      current = &compilation;
      kept.clear();
    }
    for (const auto& [name, observation] : observations) {
      Event again;
      Event anew;
      const RunCounts runs;
      EXPECT_THAT(observation.compute({compilation, runs, nullptr, &kept[name]}, again), IsOk());
      EXPECT_TRUE(kept[name].has_value());
      EXPECT_THAT(observation.compute({compilation, runs}, anew), IsOk());
      EXPECT_EQ(again.SerializeAsString(), anew.SerializeAsString()) << name << " after " << step;
    }
    EXPECT_EQ(observe(compilation, "IrInstructionCount").int64_value(),
              static_cast<int64_t>(compilation.module().getInstructionCount()))
        << step;
  });
}

}  // namespace
}  // namespace compiler_gym::llvm_service
