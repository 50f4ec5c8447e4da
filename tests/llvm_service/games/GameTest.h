// Shared parts of the tests of games.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "llvm_service/games/Game.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {

inline std::shared_ptr<const Program> loadProgram(const std::string& program) {
  std::shared_ptr<const Program> loaded;
  EXPECT_THAT(Program::load(makeBenchmark(program), 1 << 30, loaded), IsOk());
  return loaded;
}

class GameTest : public ::testing::Test {
 protected:
  // Answers one question. Returns whether that ends the episode.
  static bool act(Game& game, size_t action) {
    Outcome outcome;
    EXPECT_THAT(game.apply(action, 1, settings(), outcome), IsOk());
    return outcome.endsEpisode;
  }

  static const LlvmSettings& settings() {
    static const LlvmSettings settings;
    return settings;
  }

  const TemporaryDirectory directory_;
};

}  // namespace compiler_gym::llvm_service
