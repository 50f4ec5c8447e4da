#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm_service/regalloc/AdvisorChannel.h"
#include "llvm_service/regalloc/AdvisorFeatures.h"

namespace llvm {
class LLVMContext;
class Pass;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// The answer that leaves a question to LLVM's own rule.
constexpr int64_t kDefaultAnswer = -1;

/// The answers to questions about a priority, besides that of LLVM's own rule.
enum Priority : int64_t {
  /// Before all live ranges that wait.
  kFirst,
  /// After all live ranges that wait.
  kLast,
  /// As if the live range were twice as long. Long ones come first.
  kSooner,
  /// As if the live range were half as long.
  kLater,
};
constexpr size_t kPriorities = 4;

/// A question of the register allocator.
struct AllocatorQuestion {
  std::string function;
  /// True for the answers that can be chosen: for evictions kEvictionCandidates of them, for
  /// priorities kPriorities.
  std::vector<bool> mask;
  /// The candidate or the priority that LLVM's own rule chooses.
  int64_t byDefault = 0;
  /// The candidate or the priority that was chosen.
  int64_t chosen = 0;
  /// True if the player chose it.
  bool decided = false;
  /// The length of the live range whose priority is asked for, as LiveInterval::getSize() has it.
  int64_t rangeSize = 0;
  /// See advisorFeatures(). Empty for questions that were answered before, and for late ones.
  std::vector<float> features;
};

/// The candidate or the priority that an answer stands for.
///
/// @param byDefault that of LLVM's own rule.
int64_t chosenBy(AllocatorDecision decision, int64_t answer, int64_t byDefault);

/// The number of questions after the answers for which features are kept.
constexpr size_t kFeaturesAhead = 128;

/// Answers questions of one kind, and records them.
class AllocatorPlayer {
 public:
  /// @param answers see generateWithAnswers().
  AllocatorPlayer(AllocatorDecision decision, llvm::ArrayRef<int64_t> answers, std::string function,
                  AdvisorChannel& channel)
      : decision_(decision), answers_(answers), function_(std::move(function)), channel_(channel) {}

  bool isAskedAbout(llvm::StringRef function) const {
    return function_.empty() || function == function_;
  }

  /// Discards messages that are not questions. The advisor would block if too many were unread.
  void drain() { receive(); }

  /// Chooses the answer to the next question before the advisor may ask it.
  void prepare(int64_t byDefault);

  /// True if the features of the prepared question are kept.
  bool keepsFeatures() const;

  /// Records the question about an eviction that LLVM's interactive advisor has asked.
  ///
  /// @return true if the player has answered it.
  bool noteEviction(llvm::StringRef function);

  /// Records the question about a priority. LLVM's interactive advisor has asked it if
  /// keepsFeatures().
  ///
  /// @return the priority.
  unsigned notePriority(llvm::StringRef function, unsigned rangeSize);

  const grpc::Status& status() const { return status_; }
  std::vector<AllocatorQuestion>& questions() { return questions_; }

 private:
  std::optional<std::string> receive();

  const AllocatorDecision decision_;
  const llvm::ArrayRef<int64_t> answers_;
  const std::string function_;
  AdvisorChannel& channel_;
  AllocatorQuestion next_;
  std::vector<AllocatorQuestion> questions_;
  grpc::Status status_;
};

/// Makes the pass that has a player advise the register allocator; null if this LLVM has no
/// interface to its register allocator. Of the passes for one decision, the first in a pass manager
/// counts.
llvm::Pass* makeEvictionPass(llvm::LLVMContext& context, AllocatorPlayer& player);
llvm::Pass* makePriorityPass(AllocatorPlayer& player);

}  // namespace compiler_gym::llvm_service
