// Decisions about registers, and the object files that result.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "llvm_service/LlvmSession.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"
#include "llvm_service/regalloc/RegallocGame.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Statuses.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

// Without LLVM's interface to its register allocator there is nothing to play.
#if __has_include("llvm/CodeGen/RegAllocEvictionAdvisor.h")

constexpr size_t kDefault = kEvictionCandidates;

class RegallocGameTest : public ::testing::Test {
 protected:
  std::unique_ptr<RegallocGame> start(const std::string& program,
                                      AllocatorDecision decision = AllocatorDecision::kEviction) {
    std::shared_ptr<const Program> loaded;
    EXPECT_THAT(Program::load(makeBenchmark(program), 1 << 30, loaded), IsOk());
    std::unique_ptr<RegallocGame> game;
    EXPECT_THAT(RegallocGame::start(loaded, decision, directory_.path(), game), IsOk());
    return game;
  }

  static bool act(RegallocGame& game, size_t action) {
    Outcome outcome;
    EXPECT_THAT(game.apply(action, 1, settings(), outcome), IsOk());
    return outcome.endsEpisode;
  }

  static const SessionSettings& settings() {
    static const SessionSettings settings;
    return settings;
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

  const TemporaryDirectory directory_;
};

TEST_F(RegallocGameTest, BeginsAndEndsWithTheObjectOfLlvmsRule) {
  const auto game = start(kernel("sha256"));
  const std::string expected = plainObject(game->input());
  EXPECT_EQ(game->allocation().output, expected);
  size_t answers = 0;
  ASSERT_NE(game->openQuestion(), nullptr);
  while (!act(*game, kDefault)) ++answers;
  EXPECT_GT(answers, 50U);
  EXPECT_EQ(game->allocation().output, expected);
  for (const AllocatorQuestion& question : game->allocation().questions) {
    EXPECT_TRUE(question.mask[question.byDefault]);
    EXPECT_EQ(question.chosen, question.byDefault);
    EXPECT_FALSE(question.decided);
  }
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
  EXPECT_EQ(played.questions.size(), answers.size());
  for (const auto& question : played.questions) EXPECT_TRUE(question.decided);
}

TEST_F(RegallocGameTest, AnswersAloneDecideTheObject) {
  const auto game = start(kernel("sha256"));
  const std::string before = game->allocation().output;
  const std::vector<size_t> actions = playAtRandom(*game, 1, 12);
  EXPECT_NE(game->allocation().output, before);
  const auto again = start(kernel("sha256"));
  for (const size_t action : actions) act(*again, action);
  EXPECT_EQ(again->allocation().output, game->allocation().output);
  EXPECT_EQ(again->openQuestion()->features, game->openQuestion()->features);
}

TEST_F(RegallocGameTest, RefusesIllegalCandidates) {
  const auto game = start(kernel("sha256"));
  const std::vector<bool>& mask = game->openQuestion()->mask;
  const size_t illegal = std::find(mask.begin(), mask.end(), false) - mask.begin();
  ASSERT_LT(illegal, kEvictionCandidates);
  Outcome outcome;
  EXPECT_THAT(game->apply(illegal, 1, settings(), outcome),
              IsError(StatusCode::INVALID_ARGUMENT, "Expected one of candidate-"));
  EXPECT_EQ(game->answers(), 0U);
  act(*game, kDefault);
  EXPECT_EQ(game->answers(), 1U);
}

TEST_F(RegallocGameTest, AsksAboutOneFunction) {
  const auto game = start(kernel("json"));
  const std::string name = game->allocation().questions.back().function;
  const size_t all = game->allocation().questions.size();
  std::optional<std::string> reply;
  ASSERT_THAT(game->handleParameter("llvm.set_function", name, settings(), reply), IsOk());
  EXPECT_EQ(reply, name);
  EXPECT_LT(game->allocation().questions.size(), all);
  for (const auto& question : game->allocation().questions) EXPECT_EQ(question.function, name);
  EXPECT_THAT(game->handleParameter("llvm.set_function", "nowhere", settings(), reply),
              IsError(StatusCode::INVALID_ARGUMENT, "got \"nowhere\". There are "));
  act(*game, kDefault);
  EXPECT_THAT(game->handleParameter("llvm.set_function", "", settings(), reply),
              IsError(StatusCode::FAILED_PRECONDITION, "before the first action"));
}

TEST_F(RegallocGameTest, FeaturesOfLateQuestionsAreComputedInTime) {
  const auto game = start(kernel("json"));
  ASSERT_GT(game->allocation().questions.size(), kFeaturesAhead + 1);
  for (size_t i = 0; i <= kFeaturesAhead; ++i) {
    ASSERT_EQ(game->openQuestion()->features.size(),
              advisorFeatureSize(AllocatorDecision::kEviction));
    act(*game, kDefault);
  }
}

constexpr auto kPriority = AllocatorDecision::kPriority;

TEST_F(RegallocGameTest, PrioritiesOfLlvmsRuleMakeItsObject) {
  const auto game = start(kernel("life"), kPriority);
  const std::string expected = plainObject(game->input());
  EXPECT_EQ(game->allocation().output, expected);
  ASSERT_GT(game->allocation().questions.size(), kFeaturesAhead);
  bool isEnd = false;
  while (!isEnd) {
    ASSERT_NE(game->openQuestion(), nullptr);
    const std::vector<float>& features = game->openQuestion()->features;
    ASSERT_EQ(features.size(), advisorFeatureSize(kPriority));
    EXPECT_EQ(features[0], game->openQuestion()->rangeSize);
    isEnd = act(*game, kPriorities);
  }
  EXPECT_EQ(game->allocation().output, expected);
  for (const AllocatorQuestion& question : game->allocation().questions) {
    EXPECT_EQ(question.chosen, question.byDefault);
    EXPECT_FALSE(question.decided);
  }
}

TEST_F(RegallocGameTest, PrioritiesChangeTheObject) {
  const auto game = start(kernel("lzss"), kPriority);
  const std::string before = game->allocation().output;
  const std::vector<size_t> actions = playAtRandom(*game, 1, 12);
  EXPECT_NE(game->allocation().output, before);
  const std::vector<AllocatorQuestion>& questions = game->allocation().questions;
  for (size_t i = 0; i < actions.size(); ++i) {
    EXPECT_EQ(questions[i].decided, actions[i] != kPriorities);
    if (actions[i] == kFirst) {
      EXPECT_EQ(questions[i].chosen, 0xffffffff);
    }
    if (actions[i] == kLast) {
      EXPECT_EQ(questions[i].chosen, 0);
    }
  }
  const auto again = start(kernel("lzss"), kPriority);
  for (const size_t action : actions) act(*again, action);
  EXPECT_EQ(again->allocation().output, game->allocation().output);
  EXPECT_EQ(again->openQuestion()->features, game->openQuestion()->features);
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

TEST_F(RegallocGameTest, AsksAboutPrioritiesInOneFunction) {
  const auto game = start(kernel("lzss"), kPriority);
  const std::string object = game->allocation().output;
  const std::string name = game->allocation().questions.back().function;
  const size_t all = game->allocation().questions.size();
  std::optional<std::string> reply;
  ASSERT_THAT(game->handleParameter("llvm.set_function", name, settings(), reply), IsOk());
  EXPECT_LT(game->allocation().questions.size(), all);
  for (const auto& question : game->allocation().questions) EXPECT_EQ(question.function, name);
  EXPECT_EQ(game->allocation().output, object);
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
  std::string program;
  for (int i = 0; i < 1500; ++i) {
    program +=
        "define i32 @f" + std::string(100, 'x') + std::to_string(i) + "() {\n  ret i32 7\n}\n";
  }
  EXPECT_EQ(start(program)->openQuestion(), nullptr);
  EXPECT_EQ(start(program, kPriority)->allocation().questions.size(), 1500U);
}

TEST_F(RegallocGameTest, LeavesNoFiles) {
  const auto game = start(kernel("lzss"));
  EXPECT_TRUE(boost::filesystem::is_empty(directory_.path()));
}

// Whatever compiles the bitcode gets the registers.
TEST_F(RegallocGameTest, TheProgramIsTheAssembly) {
  LlvmSession session(directory_.path(), regallocGame());
  ASSERT_THAT(session.init(session.getActionSpaces().front(), makeBenchmark(kernel("lzss"))),
              IsOk());
  const auto observe = [&](const std::string& name) {
    ObservationSpace wanted;
    wanted.set_name(name);
    Event event;
    EXPECT_THAT(session.computeObservation(wanted, event), IsOk()) << name;
    return event;
  };
  const int64_t bytes = observe("ObjectTextSizeBytes").int64_value();
  EXPECT_EQ(bytes, observe("ObjectTextSizeOz").int64_value());
  int64_t assembled = 0;
  ASSERT_THAT(objectTextSize(observe("Bitcode").byte_tensor().value(), assembled), IsOk());
  EXPECT_EQ(assembled, bytes);
  EXPECT_THAT(observe("Ir").string_value(), HasSubstr("define"));
}

#endif

}  // namespace
}  // namespace compiler_gym::llvm_service
