// Decisions about calls and then about registers, in one episode.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "llvm_service/inline_regalloc/InlineRegallocGame.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/SessionPlayer.h"
#include "tests/llvm_service/games/GameTest.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;

// Without LLVM's interface to its register allocator there is nothing to play.
#if __has_include("llvm/CodeGen/RegAllocEvictionAdvisor.h")

constexpr size_t kKeep = InlineRegallocGame::kKeep;
constexpr size_t kInline = InlineRegallocGame::kInline;
constexpr size_t kDefault = InlineRegallocGame::kDefault;
// The same answer of InlineGame.
constexpr size_t kLeave = 2;

class InlineRegallocGameTest : public GameTest {
 protected:
  std::unique_ptr<InlineRegallocGame> start(const std::string& program) {
    std::unique_ptr<InlineRegallocGame> game;
    EXPECT_THAT(InlineRegallocGame::start(loadProgram(program), directory_.path(), game), IsOk());
    return game;
  }

  // What any observation of the object file needs.
  static const PlayedAllocation& allocationOf(InlineRegallocGame& game) {
    View view;
    EXPECT_THAT(game.view(inlineRegallocGame().observations.front(), view), IsOk());
    return game.registers().allocation();
  }
};

TEST_F(InlineRegallocGameTest, RegistersFollowTheCalls) {
  // Two calls that LLVM inlines are kept, and the rest is left to LLVM.
  std::unique_ptr<InlineGame> calls;
  ASSERT_THAT(InlineGame::start(loadProgram(kernel("lzss")), true, directory_.path(), calls),
              IsOk());
  std::vector<size_t> answers;
  int kept = 0;
  while (calls->openQuestion() != nullptr) {
    const bool isKept = calls->openQuestion()->byDefault && kept < 2;
    kept += isKept ? 1 : 0;
    answers.push_back(isKept ? kKeep : kLeave);
    Outcome outcome;
    ASSERT_THAT(calls->apply(answers.back(), 1, settings(), outcome), IsOk());
  }

  const auto game = start(kernel("lzss"));
  const std::string before = allocationOf(*game).output;
  const size_t spills = game->registers().defaultSpills().size();
  for (const size_t answer : answers) act(*game, answer == kKeep ? kKeep : kDefault);
  ASSERT_FALSE(game->isAboutCall());
  const PlayedAllocation& allocation = allocationOf(*game);
  EXPECT_NE(allocation.output, before);
  EXPECT_EQ(game->registers().defaultSpills().size(), spills);
  PlayedAllocation expected;
  ASSERT_THAT(
      generateWithAnswers(calls->compilation().bitcode(), AllocatorDecision::kEviction, {}, "",
                          directory_.path(), llvm::CodeGenFileType::ObjectFile, expected),
      IsOk());
  EXPECT_EQ(allocation.output, expected.output);
}

TEST_F(InlineRegallocGameTest, AnswersToAnotherQuestionAreRefused) {
  const auto game = start(kernel("lzss"));
  Outcome outcome;
  EXPECT_THAT(game->apply(InlineRegallocGame::kFirstEviction, 1, settings(), outcome),
              IsError(StatusCode::INVALID_ARGUMENT, "keep, inline, default"));
  while (game->isAboutCall()) act(*game, kDefault);
  EXPECT_THAT(game->apply(kInline, 1, settings(), outcome),
              IsError(StatusCode::INVALID_ARGUMENT, "register allocator"));
  EXPECT_FALSE(act(*game, kDefault));
}

TEST_F(InlineRegallocGameTest, ProgramsWithoutQuestionsEndAtOnce) {
  const auto game = start("define i32 @f() {\n  ret i32 7\n}\n");
  Outcome outcome;
  ASSERT_THAT(game->apply(kInline, 1, settings(), outcome), IsOk());
  EXPECT_TRUE(outcome.endsEpisode);
  EXPECT_TRUE(outcome.hadNoEffect);
}

class InlineRegallocSessionTest : public InlineRegallocGameTest {
 protected:
  void SetUp() override {
    ASSERT_THAT(session.init(session.getActionSpaces().front(), makeBenchmark(kernel("lzss"))),
                IsOk());
  }

  LlvmSession session{directory_.path(), inlineRegallocGame()};
};

TEST_F(InlineRegallocSessionTest, ParametersAfterAnAnswerWithoutObservations) {
  const auto target = [&] { return send(session, "llvm.get_target_triple"); };
  const auto before = target();
  EXPECT_TRUE(before);
  // An observation of a program that the answer replaces.
  observe(session, "InlineFeatures");
  step(session, kKeep);
  EXPECT_EQ(target(), before);
  EXPECT_TRUE(session.holdsOnlyMemory());
}

#endif

}  // namespace
}  // namespace compiler_gym::llvm_service
