// The toy service as a program, whose sessions are processes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Process.h"
#include "tests/service/runtime/Processes.h"
#include "tests/service/runtime/ToyClient.h"

namespace compiler_gym::runtime {

constexpr std::chrono::seconds kPatience(250);

// The program: what the environment variable TOY_SERVICE names, or else the one in C++.
inline boost::filesystem::path toyService() {
  const char* const path = std::getenv("TOY_SERVICE");
  return path != nullptr ? path : "tests/service/runtime/toy_service";
}

class ToyServiceTest : public ::testing::Test {
 protected:
  ToyServiceTest()
      : directory_(boost::filesystem::temp_directory_path() / boost::filesystem::unique_path()) {
    boost::filesystem::create_directories(temporary());
  }
  ~ToyServiceTest() override {
    if (ended_.valid()) stop(SIGKILL);
    boost::filesystem::remove_all(directory_);
  }

  // The directory of the service's temporary files and default working directory.
  boost::filesystem::path temporary() const { return directory_ / "tmp"; }
  // The working directory that start() gives to the service.
  boost::filesystem::path working() const { return directory_ / "working"; }

  // Runs the service to its end.
  util::ProcessResult run(std::vector<std::string> arguments) const {
    util::ProcessOptions options;
    options.arguments = std::move(arguments);
    options.arguments.insert(options.arguments.begin(),
                             boost::filesystem::absolute(toyService()).string());
    options.environment = environment_;
    options.environment["TMPDIR"] = temporary().string();
    options.timeout = kPatience;
    options.captureOutput = true;
    options.maxOutputBytes = 1 << 20;
    util::ProcessResult result;
    ASSERT_OK(util::runProcess(options, &result));
    return result;
  }

  // Starts the service in working(), and waits until it serves.
  void start(std::vector<std::string> arguments = {}) {
    arguments.push_back("--working_dir=" + working().string());
    startWith(std::move(arguments), working());
  }

  void startWith(std::vector<std::string> arguments,
                 const boost::filesystem::path& workingDirectory) {
    ended_ = std::async(std::launch::async,
                        [this, arguments = std::move(arguments)] { return run(arguments); });
    pid_ = static_cast<pid_t>(waitForNumber(workingDirectory / "pid.txt"));
    port_ = waitForNumber(workingDirectory / "port.txt");
    client_.emplace(port_);
  }

  static int waitForNumber(const boost::filesystem::path& path) {
    for (int i = 0; i < 5000; ++i) {
      int number = 0;
      if (std::ifstream(path.string()) >> number) return number;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << path << " was not written";
    return 0;
  }

  util::ProcessResult stop(int signal = SIGTERM) {
    EXPECT_GT(pid_, 0);
    if (pid_ > 0) kill(pid_, signal);
    return ended_.get();
  }

  // Of the service, in addition to that of this process.
  std::map<std::string, std::string> environment_;
  const boost::filesystem::path directory_;
  pid_t pid_ = 0;
  int port_ = 0;
  std::optional<toy::ToyClient> client_;
  std::future<util::ProcessResult> ended_;
};

// With a look at the processes of its sessions.
class IsolatedServiceTest : public ToyServiceTest {
 protected:
  const toy::ToyClient& client() const { return *client_; }

  // The fork server, which is the only child of the service.
  pid_t forkServer() const {
    const std::vector<pid_t> children = childrenOf(pid_);
    EXPECT_EQ(children.size(), 1u);
    return children.empty() ? -1 : children[0];
  }

  // Sessions, pristine sessions and spares.
  std::vector<pid_t> sessionProcesses() const { return childrenOf(forkServer()); }

  // Everything below a process.
  static std::vector<pid_t> descendantsOf(pid_t pid) {
    std::vector<pid_t> all = childrenOf(pid);
    for (size_t i = 0; i < all.size(); ++i) {
      for (const pid_t child : childrenOf(all[i])) all.push_back(child);
    }
    return all;
  }

  static void expectAllGone(const std::vector<pid_t>& pids) {
    for (const pid_t pid : pids) {
      EXPECT_TRUE(eventually([pid] { return isGone(pid); }))
          << "process " << pid
          << " is still there: " << contentsOf("/proc/" + std::to_string(pid) + "/status");
    }
  }

  // Until an action that says so is at work.
  void awaitAsleep() const {
    EXPECT_TRUE(eventually([this] { return boost::filesystem::exists(working() / "asleep"); }));
  }

  // The service does what it is there for.
  void expectServes() const {
    const int64_t session = client().startOn("known");
    const auto answer = client().step(session, {"reverse", "append-a"}, {toy::kText});
    ASSERT_THAT(answer.status, IsOk());
    EXPECT_EQ(answer.reply.observation(0).string_value(), "nwonka");
    EXPECT_TRUE(client().end(session).ok());
  }
};

inline void expectExit(const util::ProcessResult& result, int code) {
  EXPECT_EQ(result.end, util::ProcessResult::End::kExited) << result.errorTail;
  EXPECT_EQ(result.code, code) << result.errorTail;
}

}  // namespace compiler_gym::runtime
