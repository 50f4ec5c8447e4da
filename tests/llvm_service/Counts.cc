#include "tests/llvm_service/Counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {

std::ostream& operator<<(std::ostream& stream, const CountsCase& example) {
  return stream << example.name;
}

Counts with(Counts base, const Counts& more) {
  for (const auto& [name, count] : more) {
    base[name] = count;
  }
  return base;
}

std::vector<CountsCase> joined(const std::vector<std::vector<CountsCase>>& groups) {
  std::vector<CountsCase> all;
  for (const std::vector<CountsCase>& cases : groups) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

void expectCounts(const std::string& observation, const std::vector<std::string>& elements,
                  const CountsCase& example) {
  for (const auto& [name, count] : example.expected) {
    ASSERT_NE(std::find(elements.begin(), elements.end(), name), elements.end())
        << "The test misspells " << name;
  }
  const auto compilation = startCompilation(makeBenchmark(example.ir));
  ASSERT_NE(compilation, nullptr) << example.ir;
  const Int64Tensor tensor = observe(*compilation, observation).int64_tensor();
  ASSERT_EQ(tensor.shape_size(), 1);
  ASSERT_EQ(tensor.shape(0), elements.size());
  ASSERT_EQ(static_cast<size_t>(tensor.value_size()), elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto found = example.expected.find(elements[i]);
    const int64_t expected = found == example.expected.end() ? 0 : found->second;
    EXPECT_EQ(tensor.value(static_cast<int>(i)), expected) << elements[i];
  }
}

void expectAllCovered(const std::vector<std::string>& elements,
                      const std::vector<CountsCase>& cases) {
  for (const std::string& element : elements) {
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                            [&](const CountsCase& example) {
                              const auto found = example.expected.find(element);
                              return found != example.expected.end() && found->second > 0;
                            }))
        << "No module has a " << element;
  }
}

}  // namespace compiler_gym::llvm_service
