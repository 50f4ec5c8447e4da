// Sequences of actions do exactly what one run of `opt` does, and no action breaks a program.
//
// The environment variable COMPILER_GYM_EXACTNESS_RUNS sets the number of sequences (default 60),
// COMPILER_GYM_EXACTNESS_SEED which ones they are (default 0).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>

#include "llvm_service/actions/ActionSpaces.h"
#include "tests/llvm_service/ForkedChild.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/Statuses.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

constexpr int kDefaultRuns = 60;
constexpr size_t kMaxLength = 40;
constexpr std::chrono::seconds kSequenceLimit(120);
constexpr std::chrono::seconds kKernelLimit(280);

const ActionSpaces& spaces() {
  static const ActionSpaces result = ActionSpaces::discover(Policy::builtin());
  return result;
}

int numberFromEnvironment(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

int numberOfRuns() { return numberFromEnvironment("COMPILER_GYM_EXACTNESS_RUNS", kDefaultRuns); }

int seed() { return numberFromEnvironment("COMPILER_GYM_EXACTNESS_SEED", 0); }

std::vector<std::string> kernelNames() {
  std::vector<std::string> names;
  for (const auto& [name, bitcode] : kernels()) {
    names.push_back(name);
  }
  return names;
}

// The sequence of a run: the same for every machine, and for any number of runs. The action spaces
// take turns, also among the runs of one kernel.
std::vector<std::string> sequenceOfRun(int run) {
  const int round = run / static_cast<int>(kernels().size());
  const std::vector<Action>& actions = spaces().lists[(run + round) % 2].actions;
  std::seed_seq seeds{seed(), run};
  std::mt19937 random(seeds);
  std::vector<std::string> sequence(1 + random() % kMaxLength);
  for (std::string& pipeline : sequence) {
    pipeline = actions[random() % actions.size()].pipeline;
  }
  return sequence;
}

std::string join(const std::vector<std::string>& sequence) {
  std::string joined;
  for (const std::string& pipeline : sequence) {
    joined += (joined.empty() ? "" : ",") + pipeline;
  }
  return joined;
}

void writeFile(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

// Runs a sequence on a program, and writes the bitcode before and after it to files.
void runSequence(const std::string& program, const std::vector<std::string>& sequence,
                 const std::string& before, const std::string& after, ChildReport& report) {
  const auto compilation = startCompilation(makeBenchmark(program));
  writeFile(before, compilation->bitcode());
  for (const std::string& pipeline : sequence) {
    report.note(pipeline);
    bool changed = false;
    const grpc::Status status = compilation->apply(pipeline, changed);
    if (!status.ok()) {
      report.complain(pipeline + ": " + describe(status));
    }
  }
  report.note("verifying");
  if (const grpc::Status status = compilation->verify(); !status.ok()) {
    report.complain(describe(status));
  }
  writeFile(after, compilation->bitcode());
}

// What is wrong with a program after one action on it; empty if nothing is.
std::string checkAction(const std::string& program, const std::string& pipeline) {
  const auto compilation = startCompilation(makeBenchmark(program));
  const std::string before = compilation->bitcode();
  bool changed = false;
  if (const grpc::Status status = compilation->apply(pipeline, changed); !status.ok()) {
    return describe(status);
  }
  if (const grpc::Status status = compilation->verify(); !status.ok()) {
    return describe(status);
  }
  const bool differs = writeBitcode(compilation->module()) != before;
  return differs && !changed ? "it claims to have changed nothing" : "";
}

class OptEquivalenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string& program() const { return kernel(GetParam()); }

  // The runs of this kernel: every n-th of all.
  std::vector<int> runs() const {
    const std::vector<std::string> names = kernelNames();
    const auto number = std::find(names.begin(), names.end(), GetParam()) - names.begin();
    std::vector<int> result;
    for (int run = static_cast<int>(number); run < numberOfRuns();
         run += static_cast<int>(names.size())) {
      result.push_back(run);
    }
    return result;
  }

  const TemporaryDirectory directory_;
};

TEST_P(OptEquivalenceTest, SequencesEqualOneRunOfOpt) {
  const std::string before = (directory_.path() / "before.bc").string();
  const std::string after = (directory_.path() / "after.bc").string();
  for (const int run : runs()) {
    const std::vector<std::string> sequence = sequenceOfRun(run);
    SCOPED_TRACE("run " + std::to_string(run) + ": " + join(sequence));
    const ChildEnd end = runInChild(
        [&](ChildReport& report) { runSequence(program(), sequence, before, after, report); },
        kSequenceLimit);
    EXPECT_EQ(end.complaints, "");
    ASSERT_FALSE(end.death.has_value()) << *end.death << " in " << end.note;
    const std::string expected =
        runLlvmTool({"opt", "-discard-value-names", "-passes=module(" + join(sequence) + ")",
                     before, "-o", "-"});
    // Not EXPECT_EQ, which would print both modules.
    EXPECT_TRUE(readFile(after) == expected);
  }
}

TEST_P(OptEquivalenceTest, EachActionAloneKeepsTheProgramValid) {
  const std::vector<Action>& actions = spaces().find("PassesWithParameters")->actions;
  size_t next = 0;
  size_t checked = 0;
  // A crash ends the child, and another one goes on with the next action.
  while (next < actions.size()) {
    const ChildEnd end = runInChild(
        [&](ChildReport& report) {
          for (size_t i = next; i < actions.size(); ++i) {
            report.note(std::to_string(i));
            const std::string trouble = checkAction(program(), actions[i].pipeline);
            if (!trouble.empty()) {
              report.complain(actions[i].pipeline + ": " + trouble);
            }
          }
        },
        kKernelLimit);
    EXPECT_EQ(end.complaints, "");
    const size_t last = std::stoul(end.note);
    checked += last + 1 - next;
    EXPECT_FALSE(end.death.has_value()) << *end.death << " in " << actions[last].pipeline;
    next = last + 1;
  }
  EXPECT_EQ(checked, actions.size());
  RecordProperty("actions", static_cast<int>(checked));
}

INSTANTIATE_TEST_SUITE_P(Kernel, OptEquivalenceTest, ::testing::ValuesIn(kernelNames()),
                         [](const auto& info) { return info.param; });

TEST(OptEquivalenceCorpusTest, IsLargeEnough) {
  EXPECT_GE(kernels().size(), 10U);
  EXPECT_GT(numberOfRuns(), 0) << "COMPILER_GYM_EXACTNESS_RUNS is not a number";
}

}  // namespace
}  // namespace compiler_gym::llvm_service
