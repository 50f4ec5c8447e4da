#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "compiler_gym/util/Subprocess.h"

namespace compiler_gym::util {
namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Command shell(const std::string& commandline) {
  Command command;
  command.add_argument(commandline);
  return command;
}

// The standard output of a command line that must succeed.
std::string outputOf(const Command& command, const fs::path& directory = {}) {
  std::string output;
  const Status status = LocalShellCommand(command).checkOutput(output, directory);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return output;
}

class SubprocessTest : public ::testing::Test {
 protected:
  SubprocessTest() : directory_(fs::temp_directory_path() / fs::unique_path()) {
    fs::create_directory(directory_);
  }
  ~SubprocessTest() override { fs::remove_all(directory_); }

  // Waits until `path` holds a number, and returns it.
  static pid_t waitForPid(const fs::path& path) {
    for (int i = 0; i < 5000; ++i) {
      pid_t pid = 0;
      if (std::ifstream(path.string()) >> pid) return pid;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << path << " was not written";
    return 0;
  }

  // True if the process ends soon. A killed one can be there for a moment, and for longer as a
  // zombie that nobody has reaped.
  static bool endsSoon(pid_t pid) {
    for (int i = 0; i < 5000; ++i) {
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string number, name, state;
      if (!(stat >> number >> name >> state) || state == "Z" || state == "X") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  const fs::path directory_;
};

TEST_F(SubprocessTest, DefaultsOfAnEmptyCommand) {
  Command command;
  EXPECT_TRUE(LocalShellCommand(command).empty());
  EXPECT_EQ(LocalShellCommand(command).timeoutSeconds(), 60);
  command.set_timeout_seconds(-1);
  EXPECT_EQ(LocalShellCommand(command).timeoutSeconds(), 60);
}

TEST_F(SubprocessTest, ArgumentsAreJoinedForTheShell) {
  Command command;
  command.add_argument("printf");
  command.add_argument("'%s,'");
  command.add_argument("a b");
  command.add_argument("| tr a x");
  EXPECT_EQ(outputOf(command), "x,b,");
}

TEST_F(SubprocessTest, EnvironmentIsMerged) {
  ASSERT_EQ(setenv("SUBPROCESS_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("SUBPROCESS_TEST_CHANGED", "old", 1), 0);
  Command command = shell("echo $SUBPROCESS_TEST_KEPT $SUBPROCESS_TEST_CHANGED $NEW; env");
  (*command.mutable_env())["SUBPROCESS_TEST_CHANGED"] = "new";
  (*command.mutable_env())["NEW"] = "with = sign";
  const std::string output = outputOf(command);
  EXPECT_THAT(output, HasSubstr("kept new with = sign\n"));
  EXPECT_THAT(output, Not(HasSubstr("SUBPROCESS_TEST_CHANGED=old")));
  // This process keeps its own.
  EXPECT_STREQ(getenv("SUBPROCESS_TEST_CHANGED"), "old");
  EXPECT_EQ(getenv("NEW"), nullptr);
}

TEST_F(SubprocessTest, WorkingDirectory) {
  const fs::path before = fs::current_path();
  EXPECT_EQ(outputOf(shell("pwd"), directory_), fs::canonical(directory_).string() + "\n");
  EXPECT_EQ(outputOf(shell("pwd")), before.string() + "\n");
  EXPECT_EQ(fs::current_path(), before);
}

TEST_F(SubprocessTest, MissingWorkingDirectory) {
  const Status status = LocalShellCommand(shell("true")).checkCall(directory_ / "none");
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr((directory_ / "none").string()));
}

TEST_F(SubprocessTest, NonZeroExit) {
  const Status status = LocalShellCommand(shell("echo out; echo reason >&2; exit 3")).checkCall();
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("exit code 3"), HasSubstr("\nreason\n"), HasSubstr("exit 3")));
}

TEST_F(SubprocessTest, EndBySignal) {
  const Status status = LocalShellCommand(shell("kill -SEGV $$")).checkCall();
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("signal 11 (Segmentation fault)"));
}

TEST_F(SubprocessTest, FailedCommandLeavesOutputAlone) {
  std::string output = "before";
  EXPECT_FALSE(LocalShellCommand(shell("echo x; false")).checkOutput(output).ok());
  EXPECT_EQ(output, "before");
}

TEST_F(SubprocessTest, LastPartOfLargeStandardErrorIsReported) {
  const Status status =
      LocalShellCommand(shell("yes first | head -c 5000000 >&2; echo last >&2; exit 1"))
          .checkCall();
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("last\n"));
  EXPECT_LT(status.error_message().size(), 6000);
}

TEST_F(SubprocessTest, LargeOutputIsComplete) {
  EXPECT_EQ(outputOf(shell("head -c 16777216 /dev/zero")).size(), kMaxCommandOutputBytes);
}

TEST_F(SubprocessTest, TooLargeOutputIsAnError) {
  std::string output;
  const Status status = LocalShellCommand(shell("yes")).checkOutput(output);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("16777216 bytes"));
  EXPECT_EQ(output, "");
}

TEST_F(SubprocessTest, DiscardedOutputHasNoLimit) {
  EXPECT_TRUE(LocalShellCommand(shell("head -c 50000000 /dev/zero")).checkCall().ok());
}

TEST_F(SubprocessTest, StandardInputIsEmpty) {
  EXPECT_EQ(outputOf(shell("cat; echo end")), "end\n");
}

TEST_F(SubprocessTest, TimeoutKillsGrandchildren) {
  const fs::path pidFile = directory_ / "pid";
  Command command =
      shell("(sh -c 'echo $$ > " + pidFile.string() + "; sleep 1000; true'; true) | cat; true");
  // A busy machine needs some time to start them.
  command.set_timeout_seconds(2);
  const auto start = std::chrono::steady_clock::now();
  const Status status = LocalShellCommand(command).checkCall();
  const auto elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("2 seconds"), HasSubstr("sleep 1000")));
  EXPECT_GE(elapsed, std::chrono::seconds(2));
  EXPECT_TRUE(endsSoon(waitForPid(pidFile)));
}

TEST_F(SubprocessTest, TimeoutAppliesWhileOutputFlows) {
  Command command = shell("yes >&2");
  command.set_timeout_seconds(1);
  EXPECT_EQ(LocalShellCommand(command).checkCall().error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(SubprocessTest, TimeoutAppliesAfterOutputWasClosed) {
  Command command = shell("exec >&- 2>&-; sleep 1000");
  command.set_timeout_seconds(1);
  std::string output;
  EXPECT_EQ(LocalShellCommand(command).checkOutput(output).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(SubprocessTest, BackgroundProcessesEndWithTheCommand) {
  const fs::path pidFile = directory_ / "pid";
  // The background process holds the pipe of the output.
  EXPECT_EQ(outputOf(shell("sleep 1000 & echo $! > " + pidFile.string() + "; echo done")),
            "done\n");
  EXPECT_TRUE(endsSoon(waitForPid(pidFile)));
}

TEST_F(SubprocessTest, ChildrenHaveNoOpenFilesOfThisProcess) {
  // Without O_CLOEXEC, as a careless library would open it.
  const int leaky = open("/dev/null", O_RDONLY);
  ASSERT_GE(leaky, 0);
  // The last one is the directory that ls itself reads.
  EXPECT_EQ(outputOf(shell("ls -1 /proc/self/fd")), "0\n1\n2\n3\n");
  close(leaky);
}

TEST_F(SubprocessTest, ChildrenHaveDefaultSignalHandling) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto handlerBefore = signal(SIGPIPE, SIG_IGN);
  // Not by a shell, because some shells unblock signals.
  ProcessOptions options;
  options.arguments = {"/bin/grep", "-E", "SigBlk|SigIgn", "/proc/self/status"};
  options.timeout = std::chrono::seconds(60);
  options.captureOutput = true;
  options.maxOutputBytes = 4096;
  ProcessResult result;
  const Status status = runProcess(options, &result);
  signal(SIGPIPE, handlerBefore);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::istringstream stream(result.output);
  std::string name;
  uint64_t blockedMask = 1;
  uint64_t ignoredMask = 1;
  stream >> name >> std::hex >> blockedMask >> name >> ignoredMask;
  EXPECT_EQ(blockedMask, 0);
  // The C library uses two signals from 32 upwards for itself.
  EXPECT_EQ(ignoredMask & 0x7fffffff, 0);
}

TEST_F(SubprocessTest, NoFileDescriptorsOrZombiesAreLeft) {
  const auto countFiles = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = countFiles();
  std::string output;
  EXPECT_TRUE(LocalShellCommand(shell("true")).checkOutput(output).ok());
  EXPECT_FALSE(LocalShellCommand(shell("false")).checkCall().ok());
  Command slow = shell("sleep 1000");
  slow.set_timeout_seconds(1);
  EXPECT_FALSE(LocalShellCommand(slow).checkCall().ok());
  EXPECT_EQ(countFiles(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(SubprocessTest, MeasuresWallTime) {
  for (const auto& [command, least] : {std::pair("sleep 0.3", 0.3), std::pair("true", 0.0)}) {
    std::chrono::duration<double> wallTime{0};
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(LocalShellCommand(shell(command)).measure(wallTime, directory_).ok());
    EXPECT_GT(wallTime.count(), least);
    EXPECT_LT(wallTime, std::chrono::steady_clock::now() - start);
  }
  std::chrono::duration<double> wallTime{0};
  EXPECT_EQ(LocalShellCommand(shell("exit 4")).measure(wallTime).error_code(),
            StatusCode::INTERNAL);
}

TEST_F(SubprocessTest, ChecksInfilesAndOutfiles) {
  Command command = shell("produce");
  command.add_infile("in.txt");
  command.add_infile((directory_ / "absolute.txt").string());
  command.add_outfile("out.txt");
  const LocalShellCommand shellCommand(command);

  Status status = shellCommand.checkInfiles(directory_);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("\"in.txt\""), HasSubstr("before the command: produce")));
  std::ofstream((directory_ / "in.txt").string()).put('x');
  EXPECT_THAT(shellCommand.checkInfiles(directory_).error_message(), HasSubstr("absolute.txt"));
  std::ofstream((directory_ / "absolute.txt").string()).put('x');
  EXPECT_TRUE(shellCommand.checkInfiles(directory_).ok());

  status = shellCommand.checkOutfiles(directory_);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("\"out.txt\""), HasSubstr("after the command: produce")));
  std::ofstream((directory_ / "out.txt").string()).put('x');
  EXPECT_TRUE(shellCommand.checkOutfiles(directory_).ok());
  // Relative to the current directory they do not exist.
  EXPECT_FALSE(shellCommand.checkOutfiles().ok());
}

TEST_F(SubprocessTest, ManyThreadsRunCommandsAtTheSameTime) {
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(8);
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([i, &outputs] {
      for (int repetition = 0; repetition < 10; ++repetition) {
        std::string output;
        const Command command = shell("echo " + std::to_string(i) + "; exit 0");
        if (LocalShellCommand(command).checkOutput(output).ok()) outputs[i] += output;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string expected;
    for (int repetition = 0; repetition < 10; ++repetition) expected += std::to_string(i) + "\n";
    EXPECT_EQ(outputs[i], expected);
  }
}

}  // namespace
}  // namespace compiler_gym::util
