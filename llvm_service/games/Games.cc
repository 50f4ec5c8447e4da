#include "llvm_service/games/Games.h"

#include <utility>

#include "llvm/ADT/STLExtras.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr std::pair<const char*, GameRulesFunction> kGames[] = {
#define GAME(name, rules) {name, rules},
#include "llvm_service/games/Games.def"
#undef GAME
};

}  // namespace

Observations observationsOfProgram(const Observations& own) {
  Observations observations = listObservations();
  llvm::erase_if(observations, [&](const Observation& each) {
    const auto isSame = [&](const Observation& other) {
      return other.space.name() == each.space.name();
    };
    return each.space.of_last_action() || llvm::any_of(own, isSame);
  });
  return observations;
}

GameRulesFunction findGame(const std::string& name) {
  for (const auto& [known, rules] : kGames) {
    if (name == known) return rules;
  }
  return nullptr;
}

std::string namesOfGames() {
  std::string names;
  for (const auto& [name, rules] : kGames) {
    names += (names.empty() ? "" : " or ") + std::string(name);
  }
  return names;
}

}  // namespace compiler_gym::llvm_service
