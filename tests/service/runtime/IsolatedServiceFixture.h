// The toy service as a program whose sessions are processes, and a look at its processes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "tests/service/runtime/Processes.h"
#include "tests/service/runtime/ToyServiceFixture.h"

namespace compiler_gym::runtime {

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
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_EQ(answer.reply.observation(0).string_value(), "nwonka");
    EXPECT_TRUE(client().end(session).ok());
  }
};

}  // namespace compiler_gym::runtime
