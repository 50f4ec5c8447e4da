// A small compiler as a service. ../service_py/ has the same in Python.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/service/CompilationSession.h"
#include "compiler_gym/service/runtime/Runtime.h"

namespace {

using compiler_gym::ActionSpace;
using compiler_gym::Benchmark;
using compiler_gym::Event;
using compiler_gym::ObservationSpace;
using grpc::Status;
using grpc::StatusCode;

struct Instruction {
  bool isAdd;
  int64_t number;

  bool operator==(const Instruction& other) const {
    return isAdd == other.isAdd && number == other.number;
  }
};
using Program = std::vector<Instruction>;

// Constants must be from -kLargest to kLargest.
constexpr int64_t kLargest = INT32_MAX;

bool isConstant(int64_t number) { return std::abs(number) <= kLargest; }

// Reads lines like `add 3` and `mul -2`. All change the same number.
Status parse(const std::string& text, Program* program) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, 4);
    const char* const end = line.data() + line.size();
    int64_t number = 0;
    const bool isKnown = name == "add " || name == "mul ";
    const auto parsed = std::from_chars(line.data() + name.size(), end, number);
    if (!isKnown || parsed.ec != std::errc() || parsed.ptr != end) {
      return Status(StatusCode::INVALID_ARGUMENT, "Not an instruction: " + line);
    }
    program->push_back({name == "add ", number});
  }
  return Status::OK;
}

// Action a: removes instructions without effect.
Program drop(const Program& program) {
  Program kept;
  for (const Instruction& instruction : program) {
    if (instruction.number != (instruction.isAdd ? 0 : 1)) kept.push_back(instruction);
  }
  return kept;
}

// Action b: merges neighbours of the same kind.
Program join(const Program& program) {
  Program joined;
  for (const Instruction& next : program) {
    if (!joined.empty() && joined.back().isAdd == next.isAdd) {
      const int64_t last = joined.back().number;
      const int64_t result = next.isAdd ? last + next.number : last * next.number;
      if (isConstant(result)) {
        joined.back().number = result;
        continue;
      }
    }
    joined.push_back(next);
  }
  return joined;
}

// Action c: moves multiplications before additions.
Program swap(Program program) {
  for (size_t i = 0; i + 1 < program.size(); ++i) {
    const auto [isAdd, addend] = program[i];
    const auto [isNextAdd, factor] = program[i + 1];
    if (!isAdd || isNextAdd || !isConstant(addend * factor)) continue;
    program[i] = {false, factor};
    program[i + 1] = {true, addend * factor};
  }
  return program;
}

ObservationSpace observationSpace(const std::string& name) {
  ObservationSpace space;
  space.set_name(name);
  space.set_deterministic(true);
  return space;
}

ObservationSpace irSpace() {
  ObservationSpace space = observationSpace("ir");
  space.mutable_space()->mutable_string_value()->mutable_length_range()->set_min(0);
  space.mutable_default_observation()->set_string_value("");
  return space;
}

compiler_gym::Int64Tensor features(std::array<int64_t, 3> values) {
  compiler_gym::Int64Tensor tensor;
  tensor.add_shape(values.size());
  *tensor.mutable_value() = {values.begin(), values.end()};
  return tensor;
}

// A vector: the numbers of instructions, additions and multiplications.
ObservationSpace featuresSpace() {
  ObservationSpace space = observationSpace("features");
  auto* const box = space.mutable_space()->mutable_int64_box();
  *box->mutable_low() = features({0, 0, 0});
  *box->mutable_high() = features({kLargest, kLargest, kLargest});
  *space.mutable_default_observation()->mutable_int64_tensor() = box->low();
  return space;
}

// A number: the cycles on an imaginary machine.
ObservationSpace runtimeSpace() {
  ObservationSpace space = observationSpace("runtime");
  space.mutable_space()->mutable_double_value()->set_min(0);
  space.mutable_default_observation()->set_double_value(0);
  return space;
}

// Optimises programs that add and multiply.
class ExampleSession final : public compiler_gym::CompilationSession {
 public:
  using CompilationSession::CompilationSession;

  std::string getCompilerVersion() const override { return "example 1.0"; }

  std::vector<ActionSpace> getActionSpaces() const override {
    ActionSpace space;
    space.set_name("default");
    for (const char* name : {"a", "b", "c"}) {
      space.mutable_space()->mutable_named_discrete()->add_name(name);
    }
    return {space};
  }

  std::vector<ObservationSpace> getObservationSpaces() const override {
    return {irSpace(), featuresSpace(), runtimeSpace()};
  }

  Status init(const ActionSpace& /*actionSpace*/, const Benchmark& benchmark) override {
    return parse(benchmark.program().contents(), &program_);
  }

  Status applyAction(const Event& action, bool& /*endOfEpisode*/,
                     std::optional<ActionSpace>& /*newActionSpace*/,
                     bool& actionHadNoEffect) override {
    const int64_t index = action.has_int64_value() ? action.int64_value() : -1;
    if (index < 0 || index > 2) {
      return Status(StatusCode::INVALID_ARGUMENT,
                    "Not an action from 0 to 2: " + action.ShortDebugString());
    }
    Program changed = index == 0 ? drop(program_) : index == 1 ? join(program_) : swap(program_);
    actionHadNoEffect = changed == program_;
    program_ = std::move(changed);
    return Status::OK;
  }

  Status computeObservation(const ObservationSpace& space, Event& observation) override {
    int64_t adds = 0;
    std::string text;
    for (const auto& [isAdd, number] : program_) {
      adds += isAdd ? 1 : 0;
      text += (isAdd ? "add " : "mul ") + std::to_string(number) + "\n";
    }
    const auto all = static_cast<int64_t>(program_.size());
    const int64_t muls = all - adds;
    if (space.name() == "ir") {
      observation.set_string_value(text);
    } else if (space.name() == "features") {
      *observation.mutable_int64_tensor() = features({all, adds, muls});
    } else {
      observation.set_double_value(static_cast<double>(adds + 3 * muls));
    }
    return Status::OK;
  }

 private:
  Program program_;
};

}  // namespace

int main(int argc, char** argv) {
  return compiler_gym::runtime::createAndRunCompilerGymService<ExampleSession>(
      argc, argv, "Optimises programs that add and multiply.");
}
