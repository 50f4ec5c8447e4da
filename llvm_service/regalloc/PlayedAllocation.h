#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"

namespace compiler_gym::llvm_service {

/// The answer that leaves a question to LLVM's own rule.
constexpr int64_t kDefaultEviction = -1;

/// A question of the register allocator: a live range has no free register, and the live ranges in
/// the register of one candidate can make room for it.
struct EvictionQuestion {
  std::string function;
  /// True for the candidates that can be chosen: kEvictionCandidates of them.
  std::vector<bool> mask;
  /// The candidate that LLVM's own rule chooses.
  int64_t byDefault;
  /// The candidate that was chosen.
  int64_t chosen;
  /// True if the player chose it.
  bool decided;
  /// See evictionFeatures(). Empty for questions that were answered before, and for late ones.
  std::vector<float> features;
};

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
  std::vector<EvictionQuestion> questions;
  /// The spills of functions that have any.
  std::vector<SpillCounts> spills;
};

/// Generates code for size, as objectTextSize() does, but with other answers to some questions of
/// the register allocator.
///
/// @param bitcode an optimised program.
/// @param answers candidates, or kDefaultEviction, in the order of the questions. LLVM's own rule
///     answers the others.
/// @param function the function that questions are asked about; empty for all functions.
/// @return UNIMPLEMENTED if this LLVM has no interface to its register allocator;
///     INVALID_ARGUMENT if an answer is not one of the candidates, or LLVM cannot allocate
///     registers with the answers, or cannot generate code at all.
[[nodiscard]] grpc::Status generateWithEvictions(llvm::StringRef bitcode,
                                                 llvm::ArrayRef<int64_t> answers,
                                                 const std::string& function,
                                                 const boost::filesystem::path& workingDirectory,
                                                 llvm::CodeGenFileType type,
                                                 PlayedAllocation& allocation);

/// The number of questions after the answers for which features are kept.
constexpr size_t kFeaturesAhead = 128;

}  // namespace compiler_gym::llvm_service
