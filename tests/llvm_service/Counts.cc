#include "tests/llvm_service/Counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "tests/llvm_service/Observing.h"

namespace compiler_gym::llvm_service {

namespace {

// The elements of a case that are not zero.
std::map<std::string, int64_t> countsOf(const CountsCase& example) {
  std::map<std::string, int64_t> counts;
  for (const std::string& word : words(example.expected)) {
    const size_t end = word.find('=');
    counts[word.substr(0, end)] = end == std::string::npos ? 1 : std::stoll(word.substr(end + 1));
  }
  return counts;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const CountsCase& example) {
  return stream << example.name;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
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
  std::map<std::string, int64_t> counts = countsOf(example);
  const Int64Tensor tensor = observe(*startCompilation(example.ir), observation).int64_tensor();
  EXPECT_THAT(tensor.shape(), ::testing::ElementsAre(elements.size()));
  ASSERT_EQ(static_cast<size_t>(tensor.value_size()), elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(tensor.value(static_cast<int>(i)), counts[elements[i]]) << elements[i];
    counts.erase(elements[i]);
  }
  EXPECT_TRUE(counts.empty()) << "The test misspells " << counts.begin()->first;
}

void expectAllCovered(const std::vector<std::string>& elements,
                      const std::vector<CountsCase>& cases) {
  std::set<std::string> covered;
  for (const CountsCase& example : cases) {
    for (const auto& [name, count] : countsOf(example)) {
      if (count > 0) covered.insert(name);
    }
  }
  for (const std::string& element : elements) {
    EXPECT_EQ(covered.count(element), 1U) << "No module has a " << element;
  }
}

}  // namespace compiler_gym::llvm_service
