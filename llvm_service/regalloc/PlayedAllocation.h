#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"
#include "llvm_service/regalloc/AdvisorFeatures.h"
#include "llvm_service/regalloc/AllocatorPlayer.h"

namespace compiler_gym::llvm_service {

/// The spills and copies that the register allocator leaves in a function.
struct SpillCounts {
  std::string function;
  int64_t spills = 0;
  int64_t reloads = 0;
  int64_t copies = 0;
  /// The executions of all of these for one call of the function, by LLVM's estimate of block
  /// frequencies.
  double cost = 0;
};

struct PlayedAllocation {
  /// The object file, or the text of the assembly.
  std::string output;
  std::vector<AllocatorQuestion> questions;
  /// The spills of functions that have any.
  std::vector<SpillCounts> spills;
};

/// Generates code for size, as objectTextSize() does, but with other answers to some questions of
/// the register allocator.
///
/// @param bitcode an optimised program.
/// @param decision the questions that are played. LLVM makes the other decisions.
/// @param answers in the order of the questions: candidates of evictions, or values of Priority, or
///     kDefaultAnswer. LLVM's own rule answers the questions that follow.
/// @param function the function that questions are asked about; empty for all functions.
/// @return UNIMPLEMENTED if this LLVM has no interface to its register allocator;
///     INVALID_ARGUMENT if an answer is not one of the candidates, or LLVM cannot allocate
///     registers with the answers, or cannot generate code at all.
[[nodiscard]] grpc::Status generateWithAnswers(llvm::StringRef bitcode, AllocatorDecision decision,
                                               llvm::ArrayRef<int64_t> answers,
                                               const std::string& function,
                                               const boost::filesystem::path& workingDirectory,
                                               llvm::CodeGenFileType type,
                                               PlayedAllocation& allocation);

}  // namespace compiler_gym::llvm_service
