#pragma once

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "llvm_service/actions/ActionSpaces.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {

/// Applies random actions to each of the kernels.
///
/// The number of steps on each is the environment variable COMPILER_GYM_WALK_STEPS, so that the
/// same test can run for hours, or else the default. The seed is fixed.
///
/// @param visit called after each step with the compilation, whether the step reported an effect,
///     and what to call the step in messages.
/// @return the number of steps.
inline int randomWalk(
    int defaultSteps,
    const std::function<void(Compilation&, bool changed, const std::string& step)>& visit) {
  const char* const wanted = std::getenv("COMPILER_GYM_WALK_STEPS");
  const int steps = wanted == nullptr ? defaultSteps : std::atoi(wanted);
  const std::vector<Action> actions =
      ActionSpaces::discover(Policy::builtin()).find("PassesWithParameters")->actions;
  std::mt19937 random(7);
  int count = 0;
  for (const auto& [name, program] : kernels()) {
    const auto compilation = startCompilation(makeBenchmark(program));
    if (compilation == nullptr) {
      break;
    }
    for (int step = 0; step < steps; ++step) {
      const std::string& pipeline = actions[random() % actions.size()].pipeline;
      const bool changed = applyPass(*compilation, pipeline);
      visit(*compilation, changed, pipeline + " at step " + std::to_string(step) + " on " + name);
      ++count;
    }
  }
  return count;
}

}  // namespace compiler_gym::llvm_service
