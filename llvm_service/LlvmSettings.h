#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>

#include "llvm_service/Compilation.h"
#include "llvm_service/Ir2vecVocabulary.h"
#include "llvm_service/actions/Policy.h"
#include "llvm_service/benchmark/Executable.h"

namespace compiler_gym::llvm_service {

/// The verification policy of that name: "always", "export" or "never".
std::optional<Verification> parseVerification(const std::string& name);

/// Reads an action policy; the built-in one if the path is empty.
llvm::Expected<Policy> loadPolicy(const std::string& path);

/// Settings made by session parameters. Copied to forks.
struct LlvmSettings {
  RunCounts runCounts;
  /// A documented setting. A build is measured once, because a repeated build of the same module
  /// measures the file system.
  int64_t buildtimesPerObservation = 1;
  Verification verification = Verification::kOnExport;
  /// Discard analyses after each action, so that the next one depends only on the module.
  bool forgetsAnalyses = false;
  /// Null if there is none.
  std::shared_ptr<const Ir2vecVocabulary> ir2vecVocabulary;
  /// The path of its file; empty if there is none.
  std::string ir2vecVocabularyPath;

  /// Sets or gets one of the parameters llvm.{set,get}_...; the reply is unset for any other key.
  ///
  /// @return INVALID_ARGUMENT if the value is not a number in the parameter's range; the error of
  ///     Ir2vecVocabulary::load.
  [[nodiscard]] grpc::Status handle(const std::string& key, const std::string& value,
                                    std::optional<std::string>& reply);

  /// @param path of a file; empty for no vocabulary.
  [[nodiscard]] grpc::Status setIr2vecVocabulary(const std::string& path);
};

}  // namespace compiler_gym::llvm_service
