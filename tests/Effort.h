#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

// Sizes of tests that repeat something: quick by default, long with --config=long of Bazel.
// tools/test.sh --all runs the long forms. The code of a test is the same in both.
namespace compiler_gym {

/// True if this run has hours rather than minutes. .bazelrc sets the variable.
inline bool isLong() {
  const char* const value = std::getenv("COMPILER_GYM_LONG_TESTS");
  return value != nullptr && std::string_view(value) == "1";
}

/// The number of repetitions, or whatever else the length of a test depends on.
template <typename T>
T effort(T quick, T longOne) {
  return isLong() ? longOne : quick;
}

/// All items in long runs, else `count` of them, evenly spaced and always the same.
template <typename T>
std::vector<T> sample(const std::vector<T>& items, size_t count) {
  if (isLong() || count >= items.size()) {
    return items;
  }
  std::vector<T> chosen;
  for (size_t i = 0; i < count; ++i) {
    chosen.push_back(items[i * items.size() / count]);
  }
  return chosen;
}

}  // namespace compiler_gym
