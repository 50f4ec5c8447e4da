#pragma once

#include <string>

#include "llvm_service/Game.h"

namespace compiler_gym::llvm_service {

/// The rules of a game, created at the first use, after the flags have been parsed.
using GameRulesFunction = const GameRules& (*)();

/// The actions are passes. See PassGame.h.
const GameRules& passGame();
/// The actions are decisions about inlining. See InlineGame.h.
const GameRules& inlineGame();
/// The actions are decisions of the register allocator. See RegallocGame.h.
const GameRules& regallocGame();
/// The actions are decisions about inlining, then those of the register allocator. See
/// InlineRegallocGame.h.
const GameRules& inlineRegallocGame();

/// The game that the flag --game names; null if there is none.
GameRulesFunction findGame(const std::string& name);

/// The names that findGame() knows: "passes or inlining or ...".
std::string namesOfGames();

}  // namespace compiler_gym::llvm_service
