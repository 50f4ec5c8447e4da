#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "llvm_service/actions/ActionSpaces.h"
#include "tests/Effort.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {

/// Applies random actions to kernels: to a quarter of them, or in long runs to all of them, a
/// hundred to each. The seed is fixed.
///
/// @param quickSteps the number of steps on each kernel in quick runs.
/// @param visit called after each step with the compilation, whether the step reported an effect,
///     and what to call the step in messages.
/// @return the number of steps.
inline int randomWalk(
    int quickSteps,
    const std::function<void(Compilation&, bool changed, const std::string& step)>& visit) {
  const int steps = effort(quickSteps, 100);
  const std::vector<Action> actions =
      ActionSpaces::discover(Policy::builtin()).find("PassesWithParameters")->actions;
  std::mt19937 random(7);
  int count = 0;
  for (const std::string& name : sample(kernelNames(), 7)) {
    const auto compilation = startCompilation(kernel(name));
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
