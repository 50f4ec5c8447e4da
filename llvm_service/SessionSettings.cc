#include "llvm_service/SessionSettings.h"

#include <array>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

struct CountParameter {
  const char* name;
  int64_t* value;
  int64_t minimum;
};

Status setCount(const CountParameter& parameter, const std::string& text) {
  int64_t value = 0;
  if (llvm::StringRef(text).getAsInteger(10, value) || value < parameter.minimum) {
    return {StatusCode::INVALID_ARGUMENT,
            std::string("llvm.set_") + parameter.name + " expects an integer of at least " +
                std::to_string(parameter.minimum) + ", not \"" + text + "\""};
  }
  *parameter.value = value;
  return Status::OK;
}

}  // namespace

std::optional<Verification> parseVerification(const std::string& name) {
  if (name == "always") {
    return Verification::kAlways;
  }
  if (name == "export") {
    return Verification::kOnExport;
  }
  if (name == "never") {
    return Verification::kNever;
  }
  return std::nullopt;
}

llvm::Expected<Policy> loadPolicy(const std::string& path) {
  if (path.empty()) {
    return Policy::builtin();
  }
  const auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return llvm::createStringError(buffer.getError(),
                                   "cannot read " + path + ": " + buffer.getError().message());
  }
  return Policy::parse((*buffer)->getBuffer());
}

Status SessionSettings::handle(const std::string& key, const std::string& value,
                               std::optional<std::string>& reply) {
  const std::array<CountParameter, 3> parameters = {{
      {"runtimes_per_observation_count", &runCounts.measured, 1},
      {"warmup_runs_count_per_runtime_observation", &runCounts.warmup, 0},
      {"buildtimes_per_observation_count", &buildtimesPerObservation, 1},
  }};
  for (const CountParameter& parameter : parameters) {
    if (key == std::string("llvm.set_") + parameter.name) {
      const Status status = setCount(parameter, value);
      reply = value;
      return status;
    }
    if (key == std::string("llvm.get_") + parameter.name) {
      reply = std::to_string(*parameter.value);
      return Status::OK;
    }
  }
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
