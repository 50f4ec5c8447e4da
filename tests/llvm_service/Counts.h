#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace compiler_gym::llvm_service {

/// A module and all that its vector of counts holds, counted by hand.
struct CountsCase {
  std::string name;
  std::string ir;
  /// Elements of the vector, such as "Ret Br=3": once without a number. The last one of a name
  /// counts. Names that are missing are zero.
  std::string expected;
};

/// A function with some arguments around instructions or blocks.
std::string functionOf(const std::string& body);

/// An instruction for a block of functionOf().
struct InstructionExample {
  /// Of its opcode, as in InstCount.
  const char* opcode;
  const char* text;
  /// Features of Autophase that count it; those of all instructions left out.
  const char* features;
};

/// One of each opcode that ends no block.
extern const std::vector<InstructionExample> kInstructions;

/// Prints a case for GoogleTest.
std::ostream& operator<<(std::ostream& stream, const CountsCase& example);

/// The words of a text.
std::vector<std::string> words(const std::string& text);

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
