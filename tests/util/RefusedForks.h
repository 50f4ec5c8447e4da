// Fault injection: makes forks fail.
#pragma once

namespace compiler_gym::util {

// Makes forks of the test program and its children fail, as if the machine had too many processes.
// All these processes share the count. There may be one object at a time.
class RefusedForks {
 public:
  // `allowed` forks succeed, and then `count` fail.
  explicit RefusedForks(int count, int allowed = 0);
  // Allows forks again.
  ~RefusedForks();
  RefusedForks(const RefusedForks&) = delete;
  RefusedForks& operator=(const RefusedForks&) = delete;

  // The number of forks that are still to fail.
  int left() const;
};

}  // namespace compiler_gym::util
