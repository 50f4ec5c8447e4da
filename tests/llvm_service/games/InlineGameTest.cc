// Decisions about inlining, and what clang -Oz makes of a program with them.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm_service/Ir.h"
#include "llvm_service/games/Games.h"
#include "llvm_service/inlining/InlineFeatures.h"
#include "llvm_service/inlining/InlineGame.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"
#include "tests/llvm_service/games/GameTest.h"

namespace compiler_gym::llvm_service {
namespace {

using Target = InlineDecision::Target;

std::unique_ptr<InlineGame> startGame(const std::string& program, bool isInOrder = false) {
  std::unique_ptr<InlineGame> game;
  EXPECT_THAT(InlineGame::start(loadProgram(program), isInOrder,
                                boost::filesystem::temp_directory_path(), game),
              IsOk());
  if (game == nullptr) throw std::runtime_error("The game did not start");
  return game;
}

// What programs are compared by: their bytes, and with LLVM 23 their text. Its inliner asks calls
// with metadata for a kind of it, which is then in the bytes, and calls are numbered by metadata.
std::string contentOf(const std::string& bitcode) {
#if LLVM_VERSION_MAJOR >= 23
  OwnedModule owned;
  EXPECT_THAT(parseIr(bitcode, owned), IsOk());
  return printIr(*owned.module);
#else
  return bitcode;
#endif
}

std::string contentOf(InlineGame& game) { return contentOf(game.compilation().bitcode()); }

std::string resultOf(InlineGame& game) {
  EXPECT_THAT(game.update(), IsOk());
  return contentOf(game);
}

// The result of opt on the game's program with decisions.
std::string optResult(const InlineGame& game, const std::vector<InlineDecision>& decisions) {
  const TemporaryDirectory directory;
  const std::string input = (directory.path() / "input.bc").string();
  const std::string output = (directory.path() / "output.bc").string();
  std::ofstream(input, std::ios::binary) << game.compilation().program().bitcode();
  std::string texts;
  for (const InlineDecision& each : decisions) texts += (texts.empty() ? "" : ";") + each.text();
  runLlvmTool({"opt", "-discard-value-names", "-load-pass-plugin=" + ownPassesPlugin(),
               "-passes=inline-decisions<" + texts + ">", input, "-o", output});
  return contentOf(readFile(output));
}

std::vector<InlineDecision> randomDecisions(const InlineGame& game, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<InlineDecision> decisions;
  for (size_t site = 0; site < game.sites().size(); ++site) {
    if (!game.sites()[site].isOpen) continue;
    const auto choice = static_cast<InlineChoice>(random() % 3);
    const bool ofCallee = random() % 4 == 0;
    decisions.push_back({ofCallee ? Target::kCallee : Target::kSite,
                         ofCallee ? game.sites()[site].calleeNumber : site, choice});
  }
  return decisions;
}

TEST(InlineGame, TargetThatIsNotKnown) {
  const auto game = startGame(
      "target triple = \"pdp11-dec-unix\"\n"
      "define internal i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
      "define i32 @main(i32 %x) {\n  %y = call i32 @f(i32 %x)\n  ret i32 %y\n}\n");
  EXPECT_EQ(game->sites().size(), 1u);
}

class InlineGameTest : public ::testing::TestWithParam<std::string> {};

TEST_P(InlineGameTest, BeginsWithTheObjectOfClang) {
  const auto game = startGame(kernel(GetParam()));
  const auto compilation = startCompilation(kernel(GetParam()));
  applyPass(*compilation, "clang<Oz>");
  EXPECT_TRUE(contentOf(*game) == contentOf(compilation->bitcode()));
  EXPECT_EQ(observe(game->compilation(), "ObjectTextSizeBytes").int64_value(),
            observe(*compilation, "ObjectTextSizeOz").int64_value());
  EXPECT_EQ(static_cast<uint64_t>(game->defaultInstructions()),
            compilation->module().getInstructionCount());
}

class InlineDecisionsTest : public InlineGameTest {};

TEST_P(InlineDecisionsTest, GiveTheSameBytesOnAnyWay) {
  const auto game = startGame(kernel(GetParam()));
  const auto other = startGame(kernel(GetParam()));
  const std::string byDefault = contentOf(*game);
  const std::vector<InlineDecision> decisions = randomDecisions(*game, 7);
  for (const InlineDecision& each : decisions) game->decide(each);
  EXPECT_TRUE(resultOf(*game) == optResult(*game, decisions));
  // On another way.
  for (const InlineDecision& each : randomDecisions(*game, 8)) {
    other->decide(each);
  }
  resultOf(*other);
  for (size_t site = 0; site < game->sites().size(); ++site) {
    other->decide({Target::kSite, site, game->choices()[site]});
  }
  EXPECT_TRUE(resultOf(*other) == resultOf(*game));
  for (size_t site = 0; site < game->sites().size(); ++site) {
    game->decide({Target::kSite, site, InlineChoice::kDefault});
  }
  EXPECT_TRUE(resultOf(*game) == byDefault);
}

TEST_P(InlineDecisionsTest, AreHeeded) {
  const auto game = startGame(kernel(GetParam()));
  for (const InlineChoice choice : {InlineChoice::kKeep, InlineChoice::kInline}) {
    for (size_t site = 0; site < game->sites().size(); ++site) {
      EXPECT_EQ(game->decide({Target::kSite, site, choice}), game->sites()[site].isOpen) << site;
    }
    ASSERT_THAT(game->update(), IsOk());
    const std::vector<InlineCounts> counts = game->counts();
    for (size_t site = 0; site < counts.size(); ++site) {
      if (!game->sites()[site].isOpen) continue;
      EXPECT_EQ(choice == InlineChoice::kKeep ? counts[site].inlined : counts[site].kept, 0)
          << site;
    }
  }
}

TEST_P(InlineDecisionsTest, AnswerInLlvmsOrder) {
  const auto game = startGame(kernel(GetParam()), /*isInOrder=*/true);
  const std::string byDefault = contentOf(*game);
  const size_t questions = game->questions().size();
  std::vector<InlineDecision> decisions;
  for (size_t answered = 0; answered < questions; ++answered) {
    ASSERT_NE(game->openQuestion(), nullptr);
    const bool inlines = game->openQuestion()->byDefault;
    decisions.push_back(
        {Target::kQuestion, 0, inlines ? InlineChoice::kInline : InlineChoice::kKeep});
    game->decide(decisions.back());
    ASSERT_TRUE(resultOf(*game) == byDefault) << answered;
  }
  EXPECT_TRUE(optResult(*game, decisions) == byDefault);
  EXPECT_EQ(game->openQuestion(), nullptr);
  EXPECT_FALSE(game->decide({Target::kQuestion, 0, InlineChoice::kInline}));
}

INSTANTIATE_TEST_SUITE_P(Kernel, InlineGameTest, ::testing::ValuesIn(sample(kernelNames(), 3)),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Kernel, InlineDecisionsTest,
                         ::testing::ValuesIn(sample<std::string>({"fft", "json", "lzss", "sha256"},
                                                                 2)),
                         [](const auto& info) { return info.param; });

TEST(InlineAnswersTest, ToAllQuestionsChangeTheProgramAndAreRepeatedByOpt) {
  const size_t most = effort(15, 200);
  for (const InlineChoice choice : {InlineChoice::kKeep, InlineChoice::kInline}) {
    const auto game = startGame(kernel("lzss"), /*isInOrder=*/true);
    const std::string byDefault = contentOf(*game);
    std::vector<InlineDecision> decisions;
    while (game->openQuestion() != nullptr && decisions.size() < most) {
      const InlineQuestion question = *game->openQuestion();
      decisions.push_back({Target::kQuestion, 0, choice});
      EXPECT_TRUE(game->decide(decisions.back()));
      ASSERT_THAT(game->update(), IsOk());
      const InlineQuestion& answered = game->questions()[decisions.size() - 1];
      EXPECT_EQ(answered.site, question.site);
      EXPECT_EQ(answered.inlined, choice == InlineChoice::kInline);
      EXPECT_TRUE(answered.decided);
    }
    EXPECT_GT(decisions.size(), 5U);
    EXPECT_TRUE(contentOf(*game) != byDefault);
    EXPECT_TRUE(contentOf(*game) == optResult(*game, decisions));
  }
}

TEST(InlineAnswersTest, HaveFeaturesHoweverLate) {
  constexpr size_t kQuestions = 2 * InlineGame::kFeaturesAhead + 1;
  std::string program = "define internal i32 @f(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n";
  for (size_t i = 0; i < kQuestions; ++i) {
    program += "define i32 @g" + std::to_string(i) +
               "(i32 %x) {\n  %y = call i32 @f(i32 %x)\n  ret i32 %y\n}\n";
  }
  const auto game = startGame(program, /*isInOrder=*/true);
  const std::string byDefault = contentOf(*game);
  const std::vector<int64_t> features = game->featuresOfQuestion();
  ASSERT_TRUE(llvm::any_of(features, [](int64_t each) { return each != 0; }));
  for (size_t answered = 0; answered < kQuestions; ++answered) {
    ASSERT_NE(game->openQuestion(), nullptr) << answered;
    ASSERT_EQ(game->featuresOfQuestion().size(), features.size()) << answered;
    ASSERT_TRUE(llvm::any_of(game->featuresOfQuestion(), [](int64_t each) { return each != 0; }));
    game->decide({Target::kQuestion, 0, InlineChoice::kDefault});
    ASSERT_THAT(game->update(), IsOk());
  }
  EXPECT_EQ(game->openQuestion(), nullptr);
  EXPECT_EQ(game->updates(), 3U);
  EXPECT_TRUE(contentOf(*game) == byDefault);
}

constexpr char kCalls[] = R"(
target triple = "x86_64-pc-linux-gnu"
define internal i32 @plain(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define internal i32 @kept(i32 %x) noinline {
  ret i32 %x
}
define internal i32 @always(i32 %x) alwaysinline {
  ret i32 %x
}
define i32 @endless(i32 %x) {
  %y = call i32 @endless(i32 %x)
  ret i32 %y
}
define weak i32 @replaced(i32 %x) {
  ret i32 %x
}
define i32 @caller(ptr %f, i32 %x) {
  %a = call i32 @plain(i32 %x)
  %b = call i32 @kept(i32 %a)
  %c = call i32 @always(i32 %b)
  %d = call i32 @endless(i32 %c)
  %e = call i32 @replaced(i32 %d)
  %g = call i32 %f(i32 %e)
  %h = call i32 @plain(i32 %g)
  ret i32 %h
}
)";

TEST(InlineSitesTest, MarkTheOpenCalls) {
  const auto game = startGame(kCalls);
  std::vector<std::string> callees;
  std::vector<std::string> open;
  for (const InlineSite& site : game->sites()) {
    callees.push_back(site.callee);
    if (site.isOpen) open.push_back(site.caller + " " + site.callee);
  }
  EXPECT_EQ(callees, (std::vector<std::string>{"endless", "plain", "kept", "always", "endless",
                                               "replaced", "plain"}));
  EXPECT_EQ(open, (std::vector<std::string>{"caller plain", "caller plain"}));
  EXPECT_EQ(game->sites()[1].calleeNumber, game->sites()[6].calleeNumber);
  EXPECT_EQ(game->sites()[1].calleeNumber, 1U);
  const uint64_t version = game->version();
  for (const size_t number : {0, 2, 3, 4, 5, 7, 1000}) {
    EXPECT_FALSE(game->decide({Target::kSite, number, InlineChoice::kInline})) << number;
  }
  EXPECT_FALSE(game->decide({Target::kCallee, 0, InlineChoice::kKeep}));
  EXPECT_FALSE(game->decide({Target::kCallee, 99, InlineChoice::kKeep}));
  ASSERT_THAT(game->update(), IsOk());
  EXPECT_EQ(game->version(), version);
  EXPECT_TRUE(game->decide({Target::kCallee, 1, InlineChoice::kKeep}));
  EXPECT_FALSE(game->decide({Target::kSite, 6, InlineChoice::kKeep}));
  ASSERT_THAT(game->update(), IsOk());
  EXPECT_EQ(game->version(), version + 1);
  EXPECT_EQ(game->counts()[1].kept, 1);
  EXPECT_EQ(game->defaultCounts()[1].inlined, 1);
}

TEST(InlineFeaturesTest, DescribeTheCallInQuestion) {
  const auto game = startGame(kCalls, /*isInOrder=*/true);
  const auto names = namesOfInlineFeatures();
  const auto number = [&](const std::string& name) {
    return llvm::find_if(names, [&](const auto& each) { return each.first == name; }) -
           names.begin();
  };
  const std::vector<int64_t> features = game->featuresOfQuestion();
  ASSERT_EQ(features.size(), names.size());
  EXPECT_EQ(features[number("callee_users")], 2);
  EXPECT_EQ(features[number("callee_is_local")], 1);
  EXPECT_EQ(features[number("caller_is_local")], 0);
  EXPECT_EQ(features[number("callee_TotalInstructionCount")], 2);
  EXPECT_EQ(features[number("callee_BasicBlockCount")], 1);
  std::vector<std::vector<int64_t>> rows;
  ASSERT_THAT(game->featuresOfSites(rows), IsOk());
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows[1], features);
  EXPECT_EQ(rows[2], std::vector<int64_t>(names.size()));
}

TEST(InlineGame, ObservationsHaveDistinctNames) {
  EXPECT_EQ(inlineGame().observationIndices.size(), inlineGame().observations.size());
}

TEST(InlineDecisionTest, Texts) {
  for (const std::string text :
       {"keep", "inline", "default", "site-0-keep", "site-12-inline", "callee-3-default"}) {
    const auto decision = InlineDecision::parse(text);
    ASSERT_TRUE(decision) << text;
    EXPECT_EQ(decision->text(), text);
  }
  for (const std::string text : {"", "Keep", "site-inline", "site--1-keep", "site-1",
                                 "caller-1-keep", "site-1-keep-", "site-x-keep"}) {
    EXPECT_FALSE(InlineDecision::parse(text)) << text;
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
