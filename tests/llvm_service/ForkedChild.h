#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace compiler_gym::llvm_service {

/// A message from a child to its parent, which survives a crash.
class ChildReport {
 public:
  /// Notes the next operation of the child. Replaces the last note.
  virtual void note(const std::string& text) = 0;
  /// Adds a line about something that went wrong.
  virtual void complain(const std::string& text) = 0;

 protected:
  ~ChildReport() = default;
};

/// The end of a child process.
struct ChildEnd {
  /// Unset if the work was done; otherwise "signal 11", "exit code 1" and so on.
  std::optional<std::string> death;
  /// The last note.
  std::string note;
  /// All complaints, a line each.
  std::string complaints;
};

/// Does some work in a forked child, so that a crash of it fails one test and not the process.
///
/// The child exits without running destructors of this process. It is ended by SIGALRM if the work
/// takes longer than the limit.
ChildEnd runInChild(const std::function<void(ChildReport&)>& work, std::chrono::seconds limit);

}  // namespace compiler_gym::llvm_service
