// The processes of a service.
#pragma once

#include <sys/types.h>

#include <boost/filesystem.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace compiler_gym::runtime {

inline std::string contentsOf(const boost::filesystem::path& path) {
  std::ifstream file(path.string());
  std::ostringstream text;
  // Unlike an iterator, this does not throw if it is about a process that has just ended.
  text << file.rdbuf();
  return text.str();
}

// True if the process has ended. Nobody may be there to reap it.
inline bool isGone(pid_t pid) {
  const std::string state = contentsOf("/proc/" + std::to_string(pid) + "/stat");
  return state.empty() || state.find(") Z ") != std::string::npos;
}

// The children of a process, without those that have ended.
inline std::vector<pid_t> childrenOf(pid_t pid) {
  std::vector<pid_t> children;
  boost::system::error_code ignored;
  const boost::filesystem::path tasks("/proc/" + std::to_string(pid) + "/task");
  for (boost::filesystem::directory_iterator task(tasks, ignored), end; task != end; ++task) {
    std::ifstream file((task->path() / "children").string());
    for (pid_t child; file >> child;) {
      if (!isGone(child)) children.push_back(child);
    }
  }
  return children;
}

// Waits until `condition` holds. False if it takes too long.
template <typename Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace compiler_gym::runtime
