#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm_service/actions/ActionSpaces.h"
#include "llvm_service/actions/Descriptions.h"
#include "llvm_service/actions/LegacyActions.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using Level = ListedPass::Level;

// The lines of `opt --print-passes` that list IR passes, by heading, without indentation.
std::map<std::string, std::vector<std::string>> passesOfOpt() {
  std::map<std::string, std::vector<std::string>> sections;
  std::istringstream lines(runLlvmTool({"opt", "--print-passes"}));
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  ", 0) == 0) {
      sections[heading].push_back(line.substr(2));
    } else {
      heading = line;
    }
  }
  return sections;
}

const char* titleOf(Level level) {
  switch (level) {
    case Level::kModule:
      return "Module passes";
    case Level::kCgscc:
      return "CGSCC passes";
    case Level::kFunction:
      return "Function passes";
    case Level::kLoopNest:
      return "LoopNest passes";
    case Level::kLoop:
      return "Loop passes";
  }
  return "";
}

const ActionSpaces& builtinSpaces() {
  static const ActionSpaces spaces = ActionSpaces::discover(Policy::builtin());
  return spaces;
}

std::set<std::string> pipelines(const ActionList& list) {
  std::set<std::string> result;
  for (const Action& action : list.actions) {
    result.insert(action.pipeline);
  }
  return result;
}

TEST(ActionSpacesTest, OptionsAreWordsOfAShell) {
  const ActionList list = {"Own", {{"a", "a", "", {"-load-pass-plugin=/my folder/it's.so", "-x"}}}};
  CommandlineSpace space;
  ASSERT_TRUE(list.toProto().space().any_value().UnpackTo(&space));
  EXPECT_EQ(space.option(0), R"('-load-pass-plugin=/my folder/it'\''s.so' -x)");
}

TEST(ListPassesTest, EqualsWhatOptPrints) {
  std::map<std::string, std::vector<std::string>> listed;
  for (const ListedPass& pass : listPasses()) {
    const std::string title = titleOf(pass.level);
    if (pass.parameters.empty()) {
      listed[title + ":"].push_back(pass.name);
    } else {
      listed[title + " with params:"].push_back(pass.name + "<" + pass.parameters + ">");
    }
  }
  std::map<std::string, std::vector<std::string>> expected;
  for (const auto& [heading, passes] : passesOfOpt()) {
    const bool irPasses = heading.find(" passes") != std::string::npos &&
                          heading.find("Machine") == std::string::npos;
    if (irPasses) {
      expected[heading] = passes;
    }
  }
  ASSERT_GE(expected.size(), 9U) << "LLVM has changed the headings of its list";
  EXPECT_EQ(listed, expected);
}

TEST(ActionSpacesTest, EachPassIsAnActionOrExcludedWithAReason) {
  const ActionSpaces& spaces = builtinSpaces();
  std::set<std::pair<Level, std::string>> excluded;
  for (const ExcludedPass& entry : spaces.excluded) {
    EXPECT_THAT(entry.reason, Not(IsEmpty())) << entry.pass.name;
    excluded.emplace(entry.pass.level, entry.pass.name);
  }
  const std::set<std::string> actions = pipelines(*spaces.find("PassesAll"));
  for (const ListedPass& pass : listPasses()) {
    const std::string text = Policy::builtin().spelling(pass.name);
    const bool isAction = actions.count(text) + actions.count("cgscc(" + text + ")") +
                              actions.count("function(" + text + ")") +
                              actions.count("function(loop(" + text + "))") +
                              actions.count("function(loop-mssa(" + text + "))") >
                          0;
    const bool isExcluded = excluded.count({pass.level, pass.name}) > 0;
    EXPECT_NE(isAction, isExcluded) << pass.name;
  }
}

TEST(ActionSpacesTest, VariantsComeAfterThePasses) {
  const std::vector<ActionList>& lists = builtinSpaces().lists;
  ASSERT_EQ(lists.size(), 4U);
  EXPECT_EQ(lists[0].name, "PassesAll");
  EXPECT_EQ(lists[1].name, "PassesWithParameters");
  EXPECT_EQ(lists[2].name, "Legacy124");
  EXPECT_EQ(lists[3].name, "Pipelines");
  ASSERT_GT(lists[1].actions.size(), lists[0].actions.size());
  for (size_t i = 0; i < lists[0].actions.size(); ++i) {
    EXPECT_EQ(lists[1].actions[i].pipeline, lists[0].actions[i].pipeline);
  }
  const std::set<std::string> actions = pipelines(lists[1]);
  EXPECT_THAT(actions, Contains("function(early-cse<memssa>)"));
  EXPECT_THAT(actions, Contains(AnyOf("function(gvn<no-pre>)", "function(gvn<no-scalar-pre>)")));
  EXPECT_THAT(actions, Contains("function(loop-mssa(licm<no-allowspeculation>))"));
}

TEST(ActionSpacesTest, EveryVariantOfThePolicyIsAnActionIfThisLlvmHasIt) {
  const std::set<std::string> actions = pipelines(*builtinSpaces().find("PassesWithParameters"));
  llvm::PassBuilder passBuilder;
  for (const Policy::Variants& entry : Policy::builtin().parameterised) {
    for (const std::string& parameters : entry.parameters) {
      const std::string text = entry.pass + "<" + parameters + ">";
      const bool isAction = llvm::any_of(actions, [&](const std::string& action) {
        return llvm::StringRef(action).trim(")").ends_with(text);
      });
      llvm::ModulePassManager passManager;
      llvm::Error error = passBuilder.parsePassPipeline(passManager, text);
      EXPECT_NE(isAction, static_cast<bool>(error)) << text;
      llvm::consumeError(std::move(error));
    }
  }
}

TEST(ActionSpacesTest, NoActionIsListedTwice) {
  for (const ActionList& list : builtinSpaces().lists) {
    std::set<std::string> names;
    for (const Action& action : list.actions) {
      EXPECT_TRUE(names.insert(action.name).second) << list.name << ": " << action.name;
    }
    // Several old names stand for the same pass of today, or for none.
    if (list.name != "Legacy124") {
      EXPECT_EQ(pipelines(list).size(), list.actions.size()) << list.name;
    }
  }
}

TEST(ActionSpacesTest, OwnPassesEndTheListsAndNeedTheirPlugin) {
  const std::vector<Action>& all = builtinSpaces().find("PassesAll")->actions;
  EXPECT_EQ(all.back().pipeline, "function(merge-identical-blocks)");
  ASSERT_EQ(all.back().options.size(), 1U);
  EXPECT_THAT(all.back().options.front(),
              ::testing::MatchesRegex("-load-pass-plugin=/.*/compiler_gym-llvm-passes.so"));
  EXPECT_THAT(all.front().options, IsEmpty());
  const std::set<std::string> variants = pipelines(*builtinSpaces().find("PassesWithParameters"));
  EXPECT_THAT(variants, Contains("inline-threshold<100>"));
}

TEST(ActionSpacesTest, EveryActionHasADescriptionOfItsOwn) {
  for (const ActionList& list : builtinSpaces().lists) {
    for (const Action& action : list.actions) {
      EXPECT_GT(llvm::StringRef(action.description).count(' '), 3U)
          << list.name << ": " << action.name << ": " << action.description;
      EXPECT_EQ(action.description.find("no description yet"), std::string::npos)
          << "Describe " << action.name << " in llvm_service/actions/descriptions.yaml";
      EXPECT_EQ(action.description.find('\n'), std::string::npos) << action.name;
    }
  }
}

TEST(LegacyActionsTest, PassesThatThisLlvmDoesNotHaveDoNothing) {
  const std::vector<Action> actions =
      makeLegacyActions(llvm::cantFail(Policy::parse("{}")), Descriptions::builtin(),
                        [](const std::string& pipeline) { return pipeline != "function(gvn)"; });
  ASSERT_EQ(actions.size(), 124U);
  EXPECT_EQ(actions[39].pipeline, "");
  EXPECT_THAT(actions[39].description, ::testing::HasSubstr("has no pass gvn"));
  EXPECT_EQ(actions[6].pipeline, "attributor") << "Nothing is excluded";
}

// Numbers that programs may have been trained with, or have kept.
TEST(PipelinesTest, KeepTheirNumbers) {
  const std::vector<Action>& pipelines = builtinSpaces().find("Pipelines")->actions;
  EXPECT_EQ(pipelines[4].pipeline, baselinePipeline("Oz"));
  EXPECT_EQ(pipelines[24].pipeline, "module-optimization-stage<Oz>");
  EXPECT_EQ(pipelines[25].pipeline, "clang<O1>");
  EXPECT_EQ(pipelines.back().pipeline, "mark-for-size<Os>");
  const std::vector<Action>& passes = builtinSpaces().find("PassesWithParameters")->actions;
  EXPECT_EQ(passes[passes.size() - 3].pipeline, "inline-threshold<1000>");
  EXPECT_EQ(passes[passes.size() - 2].pipeline, "mark-for-size<Oz>");
}

}  // namespace
}  // namespace compiler_gym::llvm_service
