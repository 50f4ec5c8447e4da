#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace compiler_gym::llvm_service {

/// Elements of a vector of counts by name. Names that are missing are zero.
using Counts = std::map<std::string, int64_t>;

/// A module and all that its vector of counts holds, counted by hand.
struct CountsCase {
  std::string name;
  std::string ir;
  Counts expected;
};

/// Prints a case for GoogleTest.
std::ostream& operator<<(std::ostream& stream, const CountsCase& example);

/// `base` with the elements of `more` added or replaced.
Counts with(Counts base, const Counts& more);

/// All cases of several groups, in their order.
std::vector<CountsCase> joined(const std::vector<std::vector<CountsCase>>& groups);

/// Checks every element of the vector, and names those that are wrong.
///
/// @param elements the names of all elements in their order.
void expectCounts(const std::string& observation, const std::vector<std::string>& elements,
                  const CountsCase& example);

/// Checks that each element is more than zero in one of the cases.
void expectAllCovered(const std::vector<std::string>& elements,
                      const std::vector<CountsCase>& cases);

}  // namespace compiler_gym::llvm_service
