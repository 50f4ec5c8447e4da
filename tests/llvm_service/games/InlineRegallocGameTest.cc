// Decisions about calls and then about registers, in one episode.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "llvm_service/inline_regalloc/InlineRegallocGame.h"
#include "llvm_service/inlining/InlineFeatures.h"
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

TEST_F(InlineRegallocGameTest, DefaultAsksBothAndMakesTheObjectOfLlvmsRule) {
  std::unique_ptr<InlineGame> calls;
  ASSERT_THAT(InlineGame::start(loadProgram(kernel("sha256")), true, directory_.path(), calls),
              IsOk());
  std::unique_ptr<RegallocGame> registers;
  ASSERT_THAT(RegallocGame::start(loadProgram(kernel("sha256")), AllocatorDecision::kEviction,
                                  directory_.path(), registers),
              IsOk());

  const auto game = start(kernel("sha256"));
  EXPECT_TRUE(game->isAboutCall());
  EXPECT_EQ(allocationOf(*game).output, registers->allocation().output);
  size_t answers = 1;
  while (!act(*game, kDefault)) ++answers;
  EXPECT_EQ(answers, calls->questions().size() + registers->allocation().questions.size());
  EXPECT_EQ(allocationOf(*game).output, registers->allocation().output);
}

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

TEST_F(InlineRegallocSessionTest, FeaturesAreThoseOfTheOpenQuestion) {
  const size_t ofCall = namesOfInlineFeatures().size();
  auto values = observe(session, "DecisionFeatures").float_tensor().value();
  ASSERT_EQ(static_cast<size_t>(values.size()),
            1 + ofCall + advisorFeatureSize(AllocatorDecision::kEviction));
  EXPECT_EQ(values[0], 1);
  const auto calls = observe(session, "InlineFeatures").int64_tensor().value();
  for (size_t i = 0; i < ofCall; ++i) EXPECT_EQ(values[1 + i], static_cast<float>(calls[i]));
  while (observe(session, "DecisionFeatures").float_tensor().value(0) == 1) step(session, kDefault);
  values = observe(session, "DecisionFeatures").float_tensor().value();
  const auto registers = observe(session, "EvictionFeatures").float_tensor().value();
  for (int i = 0; i < registers.size(); ++i) EXPECT_EQ(values[1 + ofCall + i], registers[i]);
  // The default costs are those of clang -Oz, whatever is inlined.
  EXPECT_EQ(observe(session, "ObjectTextSizeBytes").int64_value(),
            observe(session, "ObjectTextSizeOz").int64_value());
  EXPECT_EQ(observe(session, "SpillCount").int64_value(),
            observe(session, "SpillCountDefault").int64_value());
}

#endif

}  // namespace
}  // namespace compiler_gym::llvm_service
