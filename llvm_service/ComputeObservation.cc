#include "llvm_service/ComputeObservation.h"

#include <gflags/gflags.h>
#include <google/protobuf/text_format.h>

#include <boost/filesystem.hpp>
#include <iostream>
#include <string>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm_service/LlvmSession.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr int kUsage = 2;
constexpr int kFailure = 3;

// Removes the differences between spellings such as INST_COUNT and InstCount.
std::string normalised(llvm::StringRef name) {
  std::string result;
  for (const char letter : name) {
    if (letter != '_') {
      result.push_back(llvm::toLower(letter));
    }
  }
  return result;
}

// Finds a space by its name, or by its number as "#N".
Status findSpace(const LlvmSession& session, const std::string& name, ObservationSpace& space) {
  std::string names;
  size_t number = 0;
  for (const ObservationSpace& candidate : session.getObservationSpaces()) {
    if (normalised(candidate.name()) == normalised(name) ||
        name == "#" + std::to_string(number++)) {
      space = candidate;
      return Status::OK;
    }
    names += " " + candidate.name();
  }
  return {StatusCode::INVALID_ARGUMENT,
          "Unknown observation space \"" + name + "\". There are" + names};
}

Status compute(const std::string& spaceName, const std::string& path, Event& value) {
  namespace fs = boost::filesystem;
  LlvmSession session(fs::temp_directory_path());
  ObservationSpace space;
  RETURN_IF_ERROR(findSpace(session, spaceName, space));
  Benchmark benchmark;
  benchmark.set_uri("file://" + fs::absolute(path).string());
  benchmark.mutable_program()->set_uri(benchmark.uri());
  RETURN_IF_ERROR(session.init(session.getActionSpaces().front(), benchmark));
  return session.computeObservation(space, value);
}

}  // namespace

int printObservation(int argc, char** argv) {
  gflags::SetUsageMessage(
      "compiler_gym-llvm-service compute_observation [--target_triple=...] "
      "[--ir2vec_vocabulary=...] SPACE "
      "FILE\nSPACE is a name like IrInstructionCount or IR_INSTRUCTION_COUNT, FILE is LLVM bitcode "
      "or "
      "textual IR.");
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc != 3) {
    std::cerr << gflags::ProgramUsage() << std::endl;
    return kUsage;
  }
  Event value;
  const Status status = util::callWithoutExceptions(
      "computing the observation", [&] { return compute(argv[1], argv[2], value); });
  if (!status.ok()) {
    std::cerr << status.error_message() << std::endl;
    return status.error_code() == StatusCode::INVALID_ARGUMENT ? kUsage : kFailure;
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(value, &text);
  std::cout << text << std::flush;
  return std::cout.good() ? 0 : kFailure;
}

}  // namespace compiler_gym::llvm_service
