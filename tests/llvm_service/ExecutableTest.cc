#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <thread>

#include "llvm_service/benchmark/Executable.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::Status;
using grpc::StatusCode;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Exits with the number of its arguments.
constexpr char kProgram[] =
    "target triple = \"x86_64-pc-linux-gnu\"\n"
    "define i32 @main(i32 %arguments) {\n"
    "  %1 = sub i32 %arguments, 1\n"
    "  ret i32 %1\n"
    "}\n";

void setCommand(Command* command, const std::string& text) {
  command->clear_argument();
  command->add_argument(text);
}

void addCommand(google::protobuf::RepeatedPtrField<Command>* commands, const std::string& text) {
  setCommand(commands->Add(), text);
}

class ExecutableTest : public ::testing::Test {
 protected:
  ExecutableTest() {
    setCommand(config_.mutable_build_cmd(), "$CC $IN");
    setCommand(config_.mutable_run_cmd(), "./a.out");
  }

  Executable& executable() {
    if (!executable_) {
      executable_ = std::make_unique<Executable>(config_, directory_.path());
    }
    return *executable_;
  }

  Status build() {
    double seconds = 0;
    return executable().build(bitcode_, seconds);
  }

  Status run(const RunCounts& counts = {}) {
    seconds_.clear();
    return executable().run(counts, seconds_);
  }

  boost::filesystem::path scratch() const {
    return boost::filesystem::directory_iterator(directory_.path())->path();
  }

  // The contents of a file in the scratch directory, which commands append words to.
  std::string log() const {
    return hasScratch("log") ? readFile((scratch() / "log").string()) : "";
  }
  static std::string logging(const std::string& word) { return "echo " + word + " >> log"; }

  bool hasScratch(const std::string& name) const {
    return directory_.entries() == 1 && boost::filesystem::exists(scratch() / name);
  }

  const TemporaryDirectory directory_;
  const std::string bitcode_ = startCompilation(kProgram)->bitcode();
  BenchmarkDynamicConfig config_;
  std::vector<double> seconds_;
  std::unique_ptr<Executable> executable_;
};

TEST_F(ExecutableTest, DeclaredFilesHaveToExist) {
  using Config = BenchmarkDynamicConfig;
  const std::function<void(Config&)> declarations[] = {
      [](Config& config) { config.mutable_build_cmd()->add_infile("missing"); },
      [](Config& config) { config.mutable_build_cmd()->add_outfile("missing"); },
      [](Config& config) { config.mutable_run_cmd()->add_infile("missing"); },
      [](Config& config) { config.mutable_run_cmd()->add_outfile("missing"); },
  };
  for (size_t i = 0; i < std::size(declarations); ++i) {
    BenchmarkDynamicConfig config = config_;
    declarations[i](config);
    Executable executable(config, directory_.path());
    double seconds = 0;
    const Status built = executable.build(bitcode_, seconds);
    EXPECT_EQ(built.ok(), i >= 2);
    EXPECT_THAT(built.ok() ? executable.run({}, seconds_) : built,
                IsError(StatusCode::NOT_FOUND, "missing"))
        << i;
  }
}

TEST_F(ExecutableTest, AnEarlierBuildIsNotTakenForALaterOne) {
  setCommand(config_.mutable_build_cmd(), "test -e built || $CC $IN && touch built");
  config_.mutable_build_cmd()->add_outfile("a.out");
  ASSERT_THAT(build(), IsOk());
  EXPECT_THAT(build(), IsError(StatusCode::NOT_FOUND, "a.out"));
}

TEST_F(ExecutableTest, OutputFilesCanHaveAnyName) {
  setCommand(config_.mutable_build_cmd(), "$CC $IN -o program");
  config_.mutable_build_cmd()->add_outfile("program");
  setCommand(config_.mutable_run_cmd(), "./program");
  ASSERT_THAT(build(), IsOk());
  int64_t bytes = 0;
  EXPECT_THAT(executable().textSize(bytes), IsOk());
  EXPECT_EQ(bytes, berkeleyTextSize((scratch() / "program").string()));
  EXPECT_THAT(run(), IsOk());
  EXPECT_THAT(seconds_, SizeIs(1));
}

TEST_F(ExecutableTest, CommandsRunInOrder) {
  setCommand(config_.mutable_build_cmd(), logging("build") + "; $CC $IN");
  setCommand(config_.mutable_run_cmd(), logging("run"));
  addCommand(config_.mutable_pre_run_cmd(), logging("before1"));
  addCommand(config_.mutable_pre_run_cmd(), logging("before2"));
  addCommand(config_.mutable_post_run_cmd(), logging("after1"));
  addCommand(config_.mutable_post_run_cmd(), logging("after2"));
  ASSERT_THAT(build(), IsOk());
  ASSERT_THAT(run({/*warmup=*/1, /*measured=*/2}), IsOk());
  EXPECT_EQ(log(), "build\nbefore1\nbefore2\nrun\nrun\nrun\nafter1\nafter2\n");
}

TEST_F(ExecutableTest, AFailingCommandEndsTheMeasurement) {
  addCommand(config_.mutable_pre_run_cmd(), "echo trouble >&2; false");
  addCommand(config_.mutable_pre_run_cmd(), logging("second"));
  setCommand(config_.mutable_run_cmd(), logging("run"));
  ASSERT_THAT(build(), IsOk());
  EXPECT_THAT(run(), IsError(StatusCode::INTERNAL, "trouble"));
  EXPECT_EQ(log(), "");
}

TEST_F(ExecutableTest, WarmupIsNotMeasured) {
  setCommand(config_.mutable_run_cmd(),
             "test -e warm || { touch warm; sleep 1; }; " + logging("run"));
  ASSERT_THAT(build(), IsOk());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_THAT(run({/*warmup=*/1, /*measured=*/3}), IsOk());
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(log(), "run\nrun\nrun\nrun\n");
  EXPECT_THAT(seconds_, SizeIs(3));
  // The second of the first run is in none of them.
  EXPECT_LT(std::accumulate(seconds_.begin(), seconds_.end(), 1.0), all.count());
}

TEST_F(ExecutableTest, LargestCountsDoNotOverflow) {
  setCommand(config_.mutable_run_cmd(), logging("run") + "; false");
  ASSERT_THAT(build(), IsOk());
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(run({/*warmup=*/kLargest, /*measured=*/1}), IsError(StatusCode::INTERNAL, ""));
  EXPECT_THAT(run({/*warmup=*/0, /*measured=*/kLargest}), IsError(StatusCode::INTERNAL, ""));
  EXPECT_EQ(log(), "run\nrun\n");
}

TEST_F(ExecutableTest, SecondsAreWallTime) {
  setCommand(config_.mutable_run_cmd(), "sleep 0.3");
  ASSERT_THAT(build(), IsOk());
  ASSERT_THAT(run(), IsOk());
  EXPECT_THAT(seconds_,
              ::testing::ElementsAre(::testing::AllOf(::testing::Ge(0.3), ::testing::Lt(100))));
}

TEST_F(ExecutableTest, ATimeoutKillsAllThatTheRunStarted) {
  setCommand(config_.mutable_run_cmd(),
             "setsid sh -c 'while :; do echo >> alive; sleep 0.05; done' & " + logging("run") +
                 "; sleep 1000");
  // A busy machine needs some time to start them.
  config_.mutable_run_cmd()->set_timeout_seconds(2);
  ASSERT_THAT(build(), IsOk());
  EXPECT_THAT(run(), IsError(StatusCode::DEADLINE_EXCEEDED, "2 second"));
  EXPECT_EQ(log(), "run\n");
  const auto alive = (scratch() / "alive").string();
  const std::string before = readFile(alive);
  EXPECT_NE(before, "");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(readFile(alive), before) << "A process outlives the run";
}

// They are the programs of anybody: what they can do is in the tests of the confinement.
TEST_F(ExecutableTest, TheBuildAndTheRunAreConfined) {
  std::ofstream((directory_.path() / "secret").string()) << "secret";
  const std::string attack =
      "cat ../../secret > stolen; echo x > ../other; cat /proc/$PPID/environ; "
      "test -z \"$SECRET_OF_THE_SERVICE\" && ";
  setenv("SECRET_OF_THE_SERVICE", "word", 1);
  setCommand(config_.mutable_build_cmd(), attack + "$CC $IN");
  setCommand(config_.mutable_run_cmd(), attack + "true");
  double seconds = 0;
  const auto parent = directory_.path() / "sessions";
  boost::filesystem::create_directory(parent);
  Executable executable(config_, parent);
  EXPECT_THAT(executable.build(bitcode_, seconds), IsOk());
  EXPECT_THAT(executable.run({}, seconds_), IsOk());
  EXPECT_FALSE(boost::filesystem::exists(parent / "other"));
  const auto stolen = boost::filesystem::directory_iterator(parent)->path() / "stolen";
  EXPECT_EQ(readFile(stolen.string()), "");
  unsetenv("SECRET_OF_THE_SERVICE");
}

// The commands before a run are those of the user, but the folder is that of the program.
TEST_F(ExecutableTest, ALinkOfTheProgramLeadsNoLaterCommandOutside) {
  const TemporaryDirectory outside;
  const std::string input = outside.path().string() + "/input";
  std::ofstream(input) << "kept";
  addCommand(config_.mutable_pre_run_cmd(), "mkdir -p inputs; echo new > inputs/input; true");
  setCommand(config_.mutable_run_cmd(), "rm -r inputs out.bc; ln -s " + outside.path().string() +
                                            " inputs; ln -s " + input + " out.bc; test -L inputs");
  ASSERT_THAT(build(), IsOk());
  ASSERT_THAT(run(), IsOk());
  EXPECT_THAT(run(), IsOk());
  EXPECT_EQ(readFile(input), "kept");
  EXPECT_THAT(build(), IsOk());
  EXPECT_EQ(readFile(input), "kept");
}

// The service removes the last output before a build.
TEST_F(ExecutableTest, ALinkOfTheProgramLeadsNoRemovalOutside) {
  const TemporaryDirectory outside;
  const std::string file = outside.path().string() + "/program";
  std::ofstream(file) << "kept";
  setCommand(config_.mutable_build_cmd(),
             "test -e first || { mkdir out && $CC $IN -o out/program; }");
  config_.mutable_build_cmd()->add_outfile("out/program");
  setCommand(config_.mutable_run_cmd(),
             "touch first; rm -r out; ln -s " + outside.path().string() + " out");
  ASSERT_THAT(build(), IsOk());
  ASSERT_THAT(run(), IsOk());
  (void)build();
  EXPECT_EQ(readFile(file), "kept");
}

TEST_F(ExecutableTest, TextSizesAreThoseOfFilesInTheScratchDirectory) {
  const TemporaryDirectory outside;
  const std::string folder = outside.path().string();
  ASSERT_THAT(build(), IsOk());
  boost::filesystem::copy_file(scratch() / "a.out", folder + "/a.out");
  config_.mutable_build_cmd()->add_outfile("out/a.out");
  for (const std::string& command :
       {"mkdir out; ln -s " + folder + "/a.out out", "ln -s " + folder + " out",
        std::string("mkdir out; mkfifo out/a.out"), std::string("mkdir -p out/a.out")}) {
    setCommand(config_.mutable_build_cmd(), command);
    Executable executable(config_, directory_.path());
    double seconds = 0;
    EXPECT_THAT(executable.build(bitcode_, seconds), IsOk()) << command;
    int64_t bytes = 0;
    const Status status = executable.textSize(bytes);
    EXPECT_FALSE(status.ok()) << command;
    EXPECT_THAT(status.error_message(), HasSubstr("did not make the file out/a.out")) << command;
  }
}

// The means that a system may lack.
TEST_F(ExecutableTest, ProgramsRunWithAnyMeansOfConfinement) {
  const auto input = directory_.path() / "input";
  std::ofstream(input.string()) << "word";
  const std::string names =
      "cat /dev/stdin >/dev/stdout && echo error >/dev/stderr && echo >/dev/fd/2 && ";
  setCommand(config_.mutable_build_cmd(), names + "$CC $IN");
  setCommand(config_.mutable_run_cmd(), names + "grep word " + input.string() + " && ./a.out");
  for (const std::string mode : {"", "no-namespaces", "no-landlock", "no-namespaces no-landlock"}) {
    setenv("COMPILER_GYM_CONFINEMENT", mode.c_str(), 1);
    Executable executable(config_, directory_.path() / "sessions");
    double seconds = 0;
    EXPECT_THAT(executable.build(bitcode_, seconds), IsOk()) << mode;
    EXPECT_GT(seconds, 0);
    int64_t bytes = 0;
    EXPECT_THAT(executable.textSize(bytes), IsOk()) << mode;
    EXPECT_THAT(executable.run({}, seconds_), IsOk()) << mode;
  }
  EXPECT_THAT(seconds_, SizeIs(4));
  unsetenv("COMPILER_GYM_CONFINEMENT");
}

TEST_F(ExecutableTest, TheRunReadsFilesThatItsCommandNames) {
  const auto input = directory_.path() / "an input";
  std::ofstream(input.string()) << "word";
  setCommand(config_.mutable_run_cmd(), "cmp '" + input.string() + "' - < \"$FILE\"");
  config_.mutable_run_cmd()->add_infile(input.string());
  (*config_.mutable_run_cmd()->mutable_env())["FILE"] = input.string();
  config_.mutable_run_cmd()->add_argument("> /dev/stdout 2> /dev/null && test -e /dev/stderr");
  Executable executable(config_, directory_.path() / "sessions");
  double seconds = 0;
  ASSERT_THAT(executable.build(bitcode_, seconds), IsOk());
  EXPECT_THAT(executable.run({}, seconds_), IsOk());
  (*config_.mutable_run_cmd()->mutable_env())["a b"] = "c";
  Executable wrong(config_, directory_.path() / "sessions");
  ASSERT_THAT(wrong.build(bitcode_, seconds), IsOk());
  EXPECT_THAT(wrong.run({}, seconds_), IsError(StatusCode::INVALID_ARGUMENT, "\"a b\""));
}

TEST_F(ExecutableTest, TheScratchDirectoryIsPrivateAndGoesWithTheObject) {
  EXPECT_EQ(directory_.entries(), 0);
  executable();
  EXPECT_EQ(directory_.entries(), 0) << "It is made when it is needed";
  ASSERT_THAT(build(), IsOk());
  ASSERT_THAT(build(), IsOk());
  EXPECT_EQ(directory_.entries(), 1);
  EXPECT_EQ(boost::filesystem::status(scratch()).permissions(), boost::filesystem::owner_all);
  executable_.reset();
  EXPECT_EQ(directory_.entries(), 0);
}

TEST_F(ExecutableTest, TheScratchDirectoryGoesWhateverTheProgramLeaves) {
  const TemporaryDirectory outside;
  std::ofstream((outside.path() / "file").string()) << "kept";
  ASSERT_THAT(build(), IsOk());
  int folder = open(scratch().c_str(), O_PATH);
  // Deeper than paths may be long, and than files may be open.
  const std::string name(50, 'd');
  for (int i = 0; i < 150; ++i) {
    ASSERT_EQ(mkdirat(folder, name.c_str(), 0700), 0);
    const int next = openat(folder, name.c_str(), O_PATH);
    close(folder);
    folder = next;
  }
  ASSERT_EQ(symlinkat(outside.path().c_str(), folder, "link"), 0);
  ASSERT_EQ(fchmodat(AT_FDCWD, (scratch() / name).c_str(), 0, 0), 0);
  close(folder);
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit few = {100, files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  executable_.reset();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(directory_.entries(), 0);
  EXPECT_EQ(outside.entries(), 1);
}

TEST_F(ExecutableTest, AScratchDirectoryThatCannotBeMadeIsAnError) {
  const auto file = directory_.path() / "file";
  std::ofstream(file.string()) << "in the way";
  Executable executable(config_, file);
  double seconds = 0;
  EXPECT_THAT(executable.build(bitcode_, seconds), IsError(StatusCode::INTERNAL, file.string()));
}

TEST_F(ExecutableTest, RunningNeedsABuild) {
  addCommand(config_.mutable_pre_run_cmd(), logging("before"));
  EXPECT_THAT(run(), IsError(StatusCode::INTERNAL, "not been built"));
  EXPECT_THAT(seconds_, SizeIs(0));
  EXPECT_EQ(log(), "") << "The command ran in the directory of the service";
}

}  // namespace
}  // namespace compiler_gym::llvm_service
