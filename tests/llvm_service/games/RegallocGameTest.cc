// Decisions about registers, and the object files that result.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"
#include "llvm_service/regalloc/RegallocGame.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/SessionPlayer.h"
#include "tests/llvm_service/games/GameTest.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

// Without LLVM's interface to its register allocator there is nothing to play.
#if __has_include("llvm/CodeGen/RegAllocEvictionAdvisor.h")

constexpr size_t kDefault = kEvictionCandidates;
constexpr auto kPriority = AllocatorDecision::kPriority;

size_t defaultOf(AllocatorDecision decision) {
  return decision == kPriority ? kPriorities : kDefault;
}

class RegallocGameTest : public GameTest {
 protected:
  std::unique_ptr<RegallocGame> start(const std::string& program,
                                      AllocatorDecision decision = AllocatorDecision::kEviction) {
    std::unique_ptr<RegallocGame> game;
    EXPECT_THAT(RegallocGame::start(loadProgram(program), decision, directory_.path(), game),
                IsOk());
    return game;
  }

  // Plays to the end, or some steps, and returns the actions.
  static std::vector<size_t> playAtRandom(RegallocGame& game, unsigned seed, size_t steps) {
    std::mt19937 random(seed);
    std::vector<size_t> actions;
    while (game.openQuestion() != nullptr && actions.size() < steps) {
      const std::vector<bool>& mask = game.openQuestion()->mask;
      std::vector<size_t> legal = {mask.size()};
      for (size_t i = 0; i < mask.size(); ++i) {
        if (mask[i]) legal.push_back(i);
      }
      actions.push_back(legal[random() % legal.size()]);
      act(game, actions.back());
    }
    return actions;
  }

  // The object file of LLVM's code generator without any game.
  static std::string plainObject(const std::string& bitcode) {
    OwnedModule owned;
    EXPECT_THAT(parseIr(bitcode, owned), IsOk());
    optimizeAsClangAtO0(*owned.module);
    markForSize(*owned.module);
    std::unique_ptr<CodeGenerator> generator;
    EXPECT_THAT(CodeGenerator::make(*owned.module, generator), IsOk());
    return generator->run(*owned.module).str();
  }
};

// The same about evictions and about priorities.
class AllocatorDecisionTest : public RegallocGameTest,
                              public ::testing::WithParamInterface<AllocatorDecision> {
 protected:
  std::unique_ptr<RegallocGame> startOn(const std::string& name) {
    return start(kernel(name), GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Decision, AllocatorDecisionTest,
                         ::testing::Values(AllocatorDecision::kEviction, kPriority),
                         [](const auto& info) {
                           return info.param == kPriority ? "Priority" : "Eviction";
                         });

TEST_P(AllocatorDecisionTest, DefaultAnswersMakeTheObjectOfLlvmsRule) {
  const auto game = startOn("life");
  const std::string expected = plainObject(game->input());
  EXPECT_EQ(game->allocation().output, expected);
  // Features of late questions are computed in time.
  ASSERT_GT(game->allocation().questions.size(), kFeaturesAhead + 1);
  bool isEnd = false;
  while (!isEnd) {
    ASSERT_NE(game->openQuestion(), nullptr);
    const std::vector<float>& features = game->openQuestion()->features;
    ASSERT_EQ(features.size(), advisorFeatureSize(GetParam()));
    if (GetParam() == kPriority) {
      EXPECT_EQ(features[0], game->openQuestion()->rangeSize);
    }
    isEnd = act(*game, defaultOf(GetParam()));
  }
  EXPECT_EQ(game->allocation().output, expected);
  for (const AllocatorQuestion& question : game->allocation().questions) {
    if (GetParam() == AllocatorDecision::kEviction) {
      EXPECT_TRUE(question.mask[question.byDefault]);
    }
    EXPECT_EQ(question.chosen, question.byDefault);
    EXPECT_FALSE(question.decided);
  }
}

TEST_P(AllocatorDecisionTest, AnswersAloneDecideTheObject) {
  const auto game = startOn("lzss");
  const std::string before = game->allocation().output;
  const std::vector<size_t> actions = playAtRandom(*game, 1, 12);
  EXPECT_NE(game->allocation().output, before);
  const std::vector<AllocatorQuestion>& questions = game->allocation().questions;
  for (size_t i = 0; GetParam() == kPriority && i < actions.size(); ++i) {
    EXPECT_EQ(questions[i].decided, actions[i] != kPriorities);
    if (actions[i] == kFirst) {
      EXPECT_EQ(questions[i].chosen, 0xffffffff);
    }
    if (actions[i] == kLast) {
      EXPECT_EQ(questions[i].chosen, 0);
    }
  }
  const auto again = startOn("lzss");
  for (const size_t action : actions) act(*again, action);
  EXPECT_EQ(again->allocation().output, game->allocation().output);
  EXPECT_EQ(again->openQuestion()->features, game->openQuestion()->features);
}

TEST_P(AllocatorDecisionTest, AsksAboutOneFunction) {
  const auto game = startOn("json");
  const std::string object = game->allocation().output;
  const std::string name = game->allocation().questions.back().function;
  const size_t all = game->allocation().questions.size();
  std::optional<std::string> reply;
  ASSERT_THAT(game->handleParameter("llvm.set_function", name, settings(), reply), IsOk());
  EXPECT_EQ(reply, name);
  EXPECT_LT(game->allocation().questions.size(), all);
  for (const auto& question : game->allocation().questions) EXPECT_EQ(question.function, name);
  EXPECT_EQ(game->allocation().output, object);
  EXPECT_THAT(game->handleParameter("llvm.set_function", "nowhere", settings(), reply),
              IsError(StatusCode::INVALID_ARGUMENT, "nowhere"));
  act(*game, defaultOf(GetParam()));
  EXPECT_THAT(game->handleParameter("llvm.set_function", "", settings(), reply),
              IsError(StatusCode::FAILED_PRECONDITION, "before the first action"));
}

// LLVM's rule, spelled out as candidates, is the same.
TEST_F(RegallocGameTest, CandidatesOfLlvmsRuleMakeTheSameObject) {
  const auto game = start(kernel("lzss"));
  const std::string expected = game->allocation().output;
  std::vector<int64_t> answers;
  for (const auto& question : game->allocation().questions) answers.push_back(question.byDefault);
  PlayedAllocation played;
  ASSERT_THAT(generateWithAnswers(game->input(), AllocatorDecision::kEviction, answers, "",
                                  directory_.path(), llvm::CodeGenFileType::ObjectFile, played),
              IsOk());
  EXPECT_EQ(played.output, expected);
  EXPECT_TRUE(boost::filesystem::is_empty(directory_.path()));
  EXPECT_EQ(played.questions.size(), answers.size());
  for (const auto& question : played.questions) EXPECT_TRUE(question.decided);
}

TEST_F(RegallocGameTest, SoonerAndLaterChangeTheLengthAlone) {
  const int64_t kindOfRange = 0x8a000000;
  const auto chosen = [](int64_t answer, int64_t byDefault) {
    return chosenBy(kPriority, answer, byDefault);
  };
  EXPECT_EQ(chosen(kSooner, kindOfRange + 30), kindOfRange + 60);
  EXPECT_EQ(chosen(kLater, kindOfRange + 30), kindOfRange + 15);
  EXPECT_EQ(chosen(kSooner, kindOfRange + 0xf00000), kindOfRange + 0xffffff);
  EXPECT_EQ(chosen(kSooner, 7), 14);
  EXPECT_EQ(chosen(kDefaultAnswer, 7), 7);
}

TEST_F(RegallocGameTest, ProgramsWithoutQuestionsEndAtOnce) {
  const auto game = start("define i32 @f() {\n  ret i32 7\n}\n");
  EXPECT_EQ(game->openQuestion(), nullptr);
  Outcome outcome;
  ASSERT_THAT(game->apply(0, 1, settings(), outcome), IsOk());
  EXPECT_TRUE(outcome.endsEpisode);
  EXPECT_TRUE(outcome.hadNoEffect);
}

// LLVM sends the name of each function, and waits when nobody reads them.
TEST_F(RegallocGameTest, ManyFunctionsWithFewQuestions) {
  std::string program = "target triple = \"x86_64-pc-linux-gnu\"\n";
  for (int i = 0; i < 400; ++i) {
    program +=
        "define i32 @f" + std::string(400, 'x') + std::to_string(i) + "() {\n  ret i32 7\n}\n";
  }
  EXPECT_EQ(start(program)->openQuestion(), nullptr);
  EXPECT_EQ(start(program, kPriority)->allocation().questions.size(), 400U);
}

// Whatever compiles the bitcode gets the registers.
TEST_F(RegallocGameTest, TheProgramIsTheAssembly) {
  LlvmSession session(directory_.path(), regallocGame());
  ASSERT_THAT(session.init(session.getActionSpaces().front(), makeBenchmark(kernel("lzss"))),
              IsOk());
  const int64_t bytes = observe(session, "ObjectTextSizeBytes").int64_value();
  EXPECT_EQ(bytes, observe(session, "ObjectTextSizeOz").int64_value());
  int64_t assembled = 0;
  ASSERT_THAT(objectTextSize(observe(session, "Bitcode").byte_tensor().value(), assembled), IsOk());
  EXPECT_EQ(assembled, bytes);
  EXPECT_THAT(observe(session, "Ir").string_value(), HasSubstr("define"));
}

#endif

}  // namespace
}  // namespace compiler_gym::llvm_service
