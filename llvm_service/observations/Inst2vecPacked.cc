#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm_service/Ir.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using Line = llvm::SmallString<256>;

// The lines that define structures, each with its end. LLVM prints them before all functions.
std::string definitionsIn(llvm::StringRef header) {
  std::string definitions;
  while (!header.empty()) {
    const auto [line, rest] = header.split('\n');
    if (line.starts_with("%")) {
      definitions += line;
      definitions += '\n';
    }
    header = rest;
  }
  return definitions;
}

// True if there are structures without names. They have numbers, which look like those of values.
bool haveNumbers(llvm::StringRef definitions) {
  while (!definitions.empty()) {
    if (llvm::isDigit(definitions[1])) {
      return true;
    }
    definitions = definitions.split('\n').second;
  }
  return false;
}

// Returns the length of a value's number, "%5", at the beginning of a text; 0 if there is none.
size_t lengthOfNumber(llvm::StringRef text) {
  if (!text.consume_front("%")) {
    return 0;
  }
  const size_t digits = std::min(text.find_if_not(llvm::isDigit), text.size());
  const bool isWhole =
      digits == text.size() || !(llvm::isAlnum(text[digits]) || text[digits] == '_');
  return digits > 0 && isWhole ? digits + 1 : 0;
}

// Appends a text with "<%ID>" for each value that has a number for a name, as all have in the
// service.
void appendWithoutNumbers(llvm::StringRef text, Line& line) {
  for (size_t percent = text.find('%'); percent != llvm::StringRef::npos;
       percent = text.find('%')) {
    line += text.take_front(percent);
    text = text.drop_front(percent);
    const size_t length = lengthOfNumber(text);
    line += length > 0 ? "<%ID>" : "%";
    text = text.drop_front(std::max<size_t>(length, 1));
  }
  line += text;
}

// Joins an instruction, which may be printed on several lines, into one line.
Line makeLine(llvm::StringRef instruction, bool withNumbers) {
  Line line;
  while (!instruction.empty()) {
    const auto [text, rest] = instruction.split('\n');
    if (withNumbers) {
      line += text;
    } else {
      appendWithoutNumbers(text, line);
    }
    instruction = rest.ltrim(' ');
    if (!instruction.empty()) {
      line += ' ';
    }
  }
  return line;
}

// The distinct lines of a program, and the sequence of lines that the program consists of.
class Lines {
 public:
  void add(llvm::StringRef line) {
    const auto [known, isNew] = numbers_.try_emplace(line, numbers_.size());
    if (isNew) {
      different_ += line;
      different_ += '\n';
    }
    char bytes[sizeof(int32_t)];
    llvm::support::endian::write32le(bytes, known->second);
    indices_.append(bytes, sizeof(bytes));
  }

  std::string takeDifferent() { return std::move(different_); }
  std::string takeIndices() { return std::move(indices_); }

 private:
  llvm::StringMap<uint32_t> numbers_;
  std::string different_;
  std::string indices_;
};

void setPacked(const llvm::Module& module, Event& event) {
  TextRanges instructions;
  const std::string printed = printIr(module, &instructions);
  const llvm::StringRef text = printed;
  std::string definitions =
      definitionsIn(text.take_front(instructions.empty() ? 0 : instructions.front().first));
  const bool withNumbers = haveNumbers(definitions);
  Lines lines;
  for (const auto& [begin, end] : instructions) {
    lines.add(makeLine(text.slice(begin, end).trim(' '), withNumbers));
  }
  auto& fields = *event.mutable_event_dict()->mutable_event();
  fields["structures"].set_string_value(std::move(definitions));
  fields["lines"].set_string_value(lines.takeDifferent());
  setBytes(lines.takeIndices(), fields["indices"]);
}

ObservationSpace makeSpace() {
  ObservationSpace space = tableSpace("Inst2vecPacked", {});
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  fields["structures"] = textSpace("structures").space();
  fields["lines"] = textSpace("lines").space();
  fields["indices"] = bytesSpace("indices").space();
  auto& defaults = *space.mutable_default_observation()->mutable_event_dict()->mutable_event();
  defaults["structures"].set_string_value("");
  defaults["lines"].set_string_value("");
  setBytes("", defaults["indices"]);
  return space;
}

}  // namespace

/// Inst2vecPacked: the source of the statements that Python makes for inst2vec. lines are the
/// different instructions of the program as in textual IR, each on a line with an end; "<%ID>" is
/// in the place of numbers of values, unless structures have numbers too. indices says which of
/// them each instruction is: 32-bit integers, little-endian, in the order of the program.
/// structures are the lines that define structures.
Observations inst2vecPacked() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    setPacked(input.compilation.module(), event);
    return grpc::Status::OK;
  };
  return {{makeSpace(), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
