#include "mlir_service/Execution.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "mlir_service/ChildProcess.h"
#include "mlir_service/JitCode.h"

namespace compiler_gym::mlir_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr int kLargestInput = 2;
constexpr size_t kMaxErrorBytes = 1 << 16;

/// Calls a function with a null pointer to the C++ type of an element.
template <typename Function>
void withType(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::kF32:
      return function(static_cast<float*>(nullptr));
    case ElementType::kF64:
      return function(static_cast<double*>(nullptr));
    case ElementType::kI32:
      return function(static_cast<int32_t*>(nullptr));
    case ElementType::kI64:
      return function(static_cast<int64_t*>(nullptr));
  }
}

template <typename Element>
Element elementAt(const std::string& contents, int64_t index) {
  Element element;
  std::memcpy(&element, contents.data() + static_cast<size_t>(index) * sizeof(Element),
              sizeof(Element));
  return element;
}

template <typename Element>
bool isSame(Element a, Element b) {
  return a == b || (a != a && b != b);
}

std::string placeOf(const Buffer& buffer, int64_t index) {
  std::string text;
  for (size_t i = buffer.shape.size(); i-- > 0;) {
    text = std::to_string(index % buffer.shape[i]) + (text.empty() ? "" : ", " + text);
    index /= buffer.shape[i];
  }
  return "[" + text + "]";
}

/// Returns a pseudo-random number of 64 bits, and advances the state (SplitMix64).
uint64_t nextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

/// Runs code of a kernel in a copy of this process without rights, whose output has a known length.
/// The kernel can write anything there.
Status runConfined(const ChildFunction& function, std::chrono::seconds limit, size_t bytes,
                   std::string& output) {
  ChildLimits limits = {limit};
  limits.outputBytes = std::max(bytes, kMaxErrorBytes);
  RETURN_IF_ERROR(callConfinedInChild("Running the kernel", function, limits, output));
  if (output.size() == bytes) return Status::OK;
  return {StatusCode::INTERNAL, "The kernel has overwritten what it does not own"};
}

}  // namespace

Contents makeInputs(const std::vector<Buffer>& arguments) {
  uint64_t state = 0;
  Contents contents;
  for (const Buffer& buffer : arguments) {
    std::string& bytes = contents.emplace_back(buffer.bytes(), '\0');
    withType(buffer.type, [&](auto* tag) {
      using Element = std::remove_pointer_t<decltype(tag)>;
      for (size_t i = 0; i < bytes.size(); i += sizeof(Element)) {
        const int number = static_cast<int>(nextRandom(state) % (2 * kLargestInput + 1));
        const auto element = static_cast<Element>(number - kLargestInput);
        std::memcpy(bytes.data() + i, &element, sizeof(Element));
      }
    });
  }
  return contents;
}

std::string findDifference(const std::vector<Buffer>& arguments, const Contents& expected,
                           const Contents& found) {
  std::ostringstream text;
  for (size_t i = 0; i < arguments.size() && text.tellp() == 0; ++i) {
    if (expected[i] == found[i]) continue;
    withType(arguments[i].type, [&](auto* tag) {
      using Element = std::remove_pointer_t<decltype(tag)>;
      for (int64_t j = 0; j < arguments[i].elements(); ++j) {
        const auto wanted = elementAt<Element>(expected[i], j);
        const auto got = elementAt<Element>(found[i], j);
        if (isSame(wanted, got)) continue;
        text << "argument " << i << " has " << got << " at " << placeOf(arguments[i], j)
             << " instead of " << wanted;
        return;
      }
    });
  }
  return text.str();
}

Execution::Execution(const std::vector<Buffer>& arguments, const std::string& object,
                     std::chrono::seconds limit)
    : arguments_(arguments), object_(object), limit_(limit) {}

Status Execution::run(Contents& results) const {
  const auto inChild = [this](std::string& output) -> Status {
    JitCode code(arguments_);
    RETURN_IF_ERROR(code.load(object_));
    code.set(makeInputs(arguments_));
    code.call();
    for (const std::string& contents : code.get()) output += contents;
    return Status::OK;
  };
  std::string output;
  size_t bytes = 0;
  for (const Buffer& buffer : arguments_) bytes += buffer.bytes();
  RETURN_IF_ERROR(runConfined(inChild, limit_, bytes, output));
  results.clear();
  size_t begin = 0;
  for (const Buffer& buffer : arguments_) {
    results.push_back(output.substr(begin, buffer.bytes()));
    begin += buffer.bytes();
  }
  return Status::OK;
}

Status Execution::measure(const Contents& expected, const RunCounts& counts,
                          std::vector<double>& seconds) const {
  const auto inChild = [&](std::string& output) -> Status {
    using Clock = std::chrono::steady_clock;
    JitCode code(arguments_);
    RETURN_IF_ERROR(code.load(object_));
    const Contents inputs = makeInputs(arguments_);
    code.set(inputs);
    code.call();
    const std::string difference = findDifference(arguments_, expected, code.get());
    if (!difference.empty()) {
      return {StatusCode::DATA_LOSS,
              "The kernel computes something else than at the start: " + difference};
    }
    for (int64_t i = -counts.warmup; i < counts.measured; ++i) {
      code.set(inputs);
      const auto start = Clock::now();
      code.call();
      const double duration = std::chrono::duration<double>(Clock::now() - start).count();
      if (i >= 0) output.append(reinterpret_cast<const char*>(&duration), sizeof(duration));
    }
    return Status::OK;
  };
  std::string output;
  const auto runs = static_cast<size_t>(counts.measured);
  RETURN_IF_ERROR(runConfined(inChild, limit_, runs * sizeof(double), output));
  seconds.resize(runs);
  std::memcpy(seconds.data(), output.data(), seconds.size() * sizeof(double));
  return Status::OK;
}

}  // namespace compiler_gym::mlir_service
