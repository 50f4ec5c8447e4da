#include "llvm_service/Games.h"

#include <utility>

namespace compiler_gym::llvm_service {

namespace {

constexpr std::pair<const char*, GameRulesFunction> kGames[] = {
    {"passes", passGame},
    {"inlining", inlineGame},
    {"regalloc", regallocGame},
    {"inline-regalloc", inlineRegallocGame},
};

}  // namespace

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
