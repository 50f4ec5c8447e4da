#pragma once

#include <string>

#include "llvm_service/games/Game.h"

namespace compiler_gym::llvm_service {

/// The rules of a game, created at the first use, after the flags have been parsed.
using GameRulesFunction = const GameRules& (*)();

// The functions of Games.def, such as passGame().
#define GAME(name, rules) const GameRules& rules();
#include "llvm_service/games/Games.def"
#undef GAME

/// The game that the flag --game names; null if there is none.
GameRulesFunction findGame(const std::string& name);

/// The names that findGame() knows: "passes or inlining or ...".
std::string namesOfGames();

}  // namespace compiler_gym::llvm_service
