// Sequences of actions do exactly what one run of `opt` does, and the same when they are repeated
// and when the process forks half-way, as a session does. No action breaks a program.
//
// The programs are the kernels and random ones of llvm-stress, which are not meant to be run. The
// environment variable COMPILER_GYM_EXACTNESS_SEED says which sequences they are (default 0).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <random>

#include "llvm_service/actions/ActionSpaces.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

constexpr size_t kMaxLength = 40;
constexpr size_t kPrograms = 40;
constexpr std::chrono::seconds kSequenceLimit(120);
constexpr std::chrono::seconds kKernelLimit(280);

const ActionSpaces& spaces() {
  static const ActionSpaces result = ActionSpaces::discover(Policy::builtin());
  return result;
}

int numberOfRuns() { return effort(80, 2000); }

int seed() {
  const char* const text = std::getenv("COMPILER_GYM_EXACTNESS_SEED");
  return text == nullptr ? 0 : std::atoi(text);
}

constexpr char kStress[] = "stress";

std::string stressName(int seed) { return kStress + std::to_string(seed); }

bool isStress(const std::string& name) { return llvm::StringRef(name).starts_with(kStress); }

// Kernels, then programs that llvm-stress makes of a seed, 40 in all.
std::vector<std::string> programNames() {
  std::vector<std::string> names = kernelNames();
  for (int seed = 1; names.size() < kPrograms; ++seed) {
    names.push_back(stressName(seed));
  }
  return names;
}

std::string programNamed(const std::string& name) {
  llvm::StringRef seed = name;
  if (!seed.consume_front(kStress)) {
    return kernel(name);
  }
  return runLlvmTool({"llvm-stress", "-seed=" + seed.str(), "-size=300"});
}

// The sequence of a run: the same for every machine, and for any number of runs. The action spaces
// take turns, also among the runs of one program.
std::vector<std::string> sequenceOfRun(int run) {
  const int round = run / static_cast<int>(kPrograms);
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

// What a child tells its parent, by files, which are there after a crash.
class ChildReport {
 public:
  explicit ChildReport(const boost::filesystem::path& directory)
      : note_((directory / "note").string()), complaints_((directory / "complaints").string()) {
    clear();
  }

  void clear() const {
    writeFile(note_, "");
    writeFile(complaints_, "");
  }
  // Notes the next operation. Replaces the last note.
  void note(const std::string& text) const { writeFile(note_, text); }
  void complain(const std::string& text) const {
    std::ofstream(complaints_, std::ios::app) << text << '\n';
  }
  std::string lastNote() const { return readFile(note_); }
  std::string complaints() const { return readFile(complaints_); }

 private:
  const std::string note_;
  const std::string complaints_;
};

// Does some work in a child, so that a crash of it fails one test and not the process. Returns how
// it died, if it did; a child that takes too long is ended by SIGALRM.
std::optional<std::string> deathOf(const std::function<void()>& work, std::chrono::seconds limit) {
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(limit.count()));
    work();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return "no child";
  }
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status));
  }
  return status == 0 ? std::nullopt : std::optional("exit code");
}

void applyAll(Compilation& compilation, llvm::ArrayRef<std::string> sequence,
              const ChildReport& report) {
  for (const std::string& pipeline : sequence) {
    report.note(pipeline);
    bool changed = false;
    const grpc::Status status = compilation.apply(actionOf(pipeline), changed);
    if (!status.ok()) {
      report.complain(pipeline + ": " + status.error_message());
    }
  }
}

/// The state of the program after a run.
struct ProgramFiles {
  std::string before;
  std::string after;
  /// Of a process that was forked half-way.
  std::string forked;
  /// Of the same actions, done again.
  std::string repeated;
};

// Does the second half of a sequence twice, once in a forked process.
void finishTwice(Compilation& compilation, llvm::ArrayRef<std::string> rest,
                 const ProgramFiles& files, const ChildReport& report) {
  const pid_t child = fork();
  applyAll(compilation, rest, report);
  writeFile(child == 0 ? files.forked : files.after, compilation.bitcode());
  if (child == 0) {
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    report.complain("The forked process failed");
  }
}

// Runs a sequence on a program in all three ways.
void runSequence(const std::string& program, llvm::ArrayRef<std::string> sequence,
                 const ProgramFiles& files, const ChildReport& report) {
  const auto compilation = startCompilation(program);
  writeFile(files.before, compilation->bitcode());
  const size_t half = sequence.size() / 2;
  applyAll(*compilation, sequence.take_front(half), report);
  finishTwice(*compilation, sequence.drop_front(half), files, report);
  report.note("verifying");
  if (const grpc::Status status = compilation->verify(); !status.ok()) {
    report.complain(status.error_message());
  }
  const auto again = startCompilation(program);
  applyAll(*again, sequence, report);
  writeFile(files.repeated, again->bitcode());
}

// What is wrong with a program after one action on it; empty if nothing is.
std::string checkAction(const std::string& program, const std::string& pipeline) {
  const auto compilation = startCompilation(program);
  const std::string before = compilation->bitcode();
  bool changed = false;
  if (const grpc::Status status = compilation->apply(actionOf(pipeline), changed); !status.ok()) {
    return status.error_message();
  }
  if (const grpc::Status status = compilation->verify(); !status.ok()) {
    return status.error_message();
  }
  const bool differs = writeBitcode(compilation->module()) != before;
  return differs && !changed ? "it claims to have changed nothing" : "";
}

class OptEquivalenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  // The runs of this program: every n-th of all.
  std::vector<int> runs() const {
    const std::vector<std::string> names = programNames();
    const auto number = std::find(names.begin(), names.end(), GetParam()) - names.begin();
    std::vector<int> result;
    for (int run = static_cast<int>(number); run < numberOfRuns();
         run += static_cast<int>(names.size())) {
      result.push_back(run);
    }
    return result;
  }

  std::string file(const char* name) const { return (directory_.path() / name).string(); }

  const TemporaryDirectory directory_;
  const ChildReport report_{directory_.path()};
};

TEST_P(OptEquivalenceTest, SequencesEqualOneRunOfOptARepetitionAndAFork) {
  const ProgramFiles files = {file("before.bc"), file("after.bc"), file("forked.bc"),
                              file("repeated.bc")};
  const std::string program = programNamed(GetParam());
  for (const int run : runs()) {
    const std::vector<std::string> sequence = sequenceOfRun(run);
    SCOPED_TRACE("run " + std::to_string(run) + ": " + join(sequence));
    report_.clear();
    const auto death =
        deathOf([&] { runSequence(program, sequence, files, report_); }, kSequenceLimit);
    const util::ProcessResult opt =
        tryLlvmTool({"opt", "-discard-value-names", "-load-pass-plugin=" + ownPassesPlugin(),
                     "-passes=module(" + join(sequence) + ")", files.before, "-o", "-"});
    if (death) {
      // Some passes crash on some programs of llvm-stress, and then they do so everywhere.
      const std::string crash = *death + " in " + report_.lastNote();
      EXPECT_TRUE(isStress(GetParam())) << crash;
      EXPECT_EQ(opt.end, util::ProcessResult::End::kSignalled) << crash;
      std::cout << "Nothing to compare: " << crash << std::endl;
      continue;
    }
    EXPECT_EQ(report_.complaints(), "");
    EXPECT_EQ(opt.end, util::ProcessResult::End::kExited);
    EXPECT_EQ(opt.code, 0) << opt.errorTail;
    // Not EXPECT_EQ, which would print both modules.
    EXPECT_TRUE(readFile(files.after) == opt.output);
    EXPECT_TRUE(readFile(files.forked) == opt.output) << "forked";
    EXPECT_TRUE(readFile(files.repeated) == opt.output) << "repeated";
  }
}

INSTANTIATE_TEST_SUITE_P(Program, OptEquivalenceTest, ::testing::ValuesIn(programNames()),
                         [](const auto& info) { return info.param; });

class EachActionTest : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string& program() const { return kernel(GetParam()); }
};

TEST_P(EachActionTest, AloneKeepsTheProgramValid) {
  const std::vector<Action>& actions = spaces().find("PassesWithParameters")->actions;
  const TemporaryDirectory directory;
  const ChildReport report(directory.path());
  // A crash ends the child, and another one goes on with the next action.
  for (size_t next = 0; next < actions.size();) {
    const auto death = deathOf(
        [&] {
          for (size_t i = next; i < actions.size(); ++i) {
            report.note(std::to_string(i));
            const std::string trouble = checkAction(program(), actions[i].pipeline);
            if (!trouble.empty()) {
              report.complain(actions[i].pipeline + ": " + trouble);
            }
          }
        },
        kKernelLimit);
    const size_t last = std::stoul(report.lastNote());
    EXPECT_FALSE(death.has_value()) << *death << " in " << actions[last].pipeline;
    ASSERT_TRUE(death.has_value() || last + 1 == actions.size());
    next = last + 1;
  }
  EXPECT_EQ(report.complaints(), "");
}

INSTANTIATE_TEST_SUITE_P(Kernel, EachActionTest, ::testing::ValuesIn(sample(kernelNames(), 2)),
                         [](const auto& info) { return info.param; });

TEST(OptEquivalenceCorpusTest, IsLargeEnough) {
  EXPECT_GE(kernels().size(), 10U);
  EXPECT_LT(kernels().size(), kPrograms) << "There are no programs of llvm-stress any more";
}

}  // namespace
}  // namespace compiler_gym::llvm_service
