#include "llvm_service/LlvmSettings.h"

#include <array>
#include <limits>

#include "compiler_gym/util/GrpcStatusMacros.h"
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
  int64_t maximum = std::numeric_limits<int64_t>::max();
};

Status setCount(const CountParameter& parameter, const std::string& text) {
  int64_t value = 0;
  if (llvm::StringRef(text).getAsInteger(10, value) || value < parameter.minimum ||
      value > parameter.maximum) {
    return {StatusCode::INVALID_ARGUMENT,
            std::string("llvm.set_") + parameter.name + " expects an integer of at least " +
                std::to_string(parameter.minimum) +
                (parameter.maximum < std::numeric_limits<int64_t>::max()
                     ? " and at most " + std::to_string(parameter.maximum)
                     : "") +
                ", not \"" + text + "\""};
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

Status LlvmSettings::setIr2vecVocabulary(const std::string& path) {
  std::shared_ptr<const Ir2vecVocabulary> vocabulary;
  if (!path.empty()) {
    RETURN_IF_ERROR(Ir2vecVocabulary::load(path, vocabulary));
  }
  ir2vecVocabulary = std::move(vocabulary);
  ir2vecVocabularyPath = path;
  return Status::OK;
}

Status LlvmSettings::handle(const std::string& key, const std::string& value,
                            std::optional<std::string>& reply) {
  if (key == "llvm.set_ir2vec_vocabulary") {
    RETURN_IF_ERROR(setIr2vecVocabulary(value));
  }
  if (key == "llvm.set_ir2vec_vocabulary" || key == "llvm.get_ir2vec_vocabulary") {
    reply = ir2vecVocabularyPath;
    return Status::OK;
  }
  if (key == "llvm.set_analyses") {
    if (value != "kept" && value != "fresh") {
      return {StatusCode::INVALID_ARGUMENT,
              "llvm.set_analyses expects \"kept\" or \"fresh\", not \"" + value + "\""};
    }
    forgetsAnalyses = value == "fresh";
  }
  if (key == "llvm.set_analyses" || key == "llvm.get_analyses") {
    reply = forgetsAnalyses ? "fresh" : "kept";
    return Status::OK;
  }
  const std::array<CountParameter, 4> parameters = {{
      {"runtimes_per_observation_count", &runCounts.measured, 1},
      {"warmup_runs_count_per_runtime_observation", &runCounts.warmup, 0},
      {"runtime_pinning", &runCounts.pinned, 0, 1},
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
