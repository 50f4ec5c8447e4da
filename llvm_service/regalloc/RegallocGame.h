#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llvm_service/games/Game.h"
#include "llvm_service/regalloc/AdvisorFeatures.h"
#include "llvm_service/regalloc/PlayedAllocation.h"

namespace compiler_gym::llvm_service {

/// A program that `clang -Oz` has optimised, and answers to the questions of its register
/// allocator. The questions are about evictions or about priorities. An action answers the next
/// question: a candidate, or a value of Priority, or `default` for LLVM's own rule. The episode
/// ends when there is no further question.
///
/// LLVM's own rule answers the remaining questions, so the program is complete at any time: at
/// first it is that of `clang -Oz -c`. After an answer that differs from LLVM's, code is generated
/// from the beginning, with all answers so far. No code generator waits in the middle of a
/// function, so sessions can be copied.
class RegallocGame final : public Game {
 public:
  /// @param decision the questions that the actions answer.
  /// @param workingDirectory the directory for scratch directories.
  [[nodiscard]] static grpc::Status start(std::shared_ptr<const Program> program,
                                          AllocatorDecision decision,
                                          const boost::filesystem::path& workingDirectory,
                                          std::unique_ptr<RegallocGame>& game);

  /// @param index of a candidate or of a Priority, or the number of these for LLVM's own rule.
  /// @return INVALID_ARGUMENT if the mask of the question forbids the candidate, or LLVM cannot
  ///     allocate registers after it.
  [[nodiscard]] grpc::Status apply(size_t index, int actionsLeft, const LlvmSettings& settings,
                                   Outcome& outcome) final;
  [[nodiscard]] grpc::Status view(const Observation& observation, View& view) final;
  void visitCompilations(const Visitor& visitor) final;

  /// Begins anew with another program, which has been optimised. Whatever is said by default stays.
  ///
  /// @return INVALID_ARGUMENT if code cannot be generated; the game goes on as it was.
  [[nodiscard]] grpc::Status restart(OwnedModule optimised);

  /// Knows llvm.{set,get}_function: the function that questions are about, all if empty.
  [[nodiscard]] grpc::Status handleParameter(const std::string& key, const std::string& value,
                                             const LlvmSettings& settings,
                                             std::optional<std::string>& reply) final;

  /// The program that registers are allocated for.
  const std::string& input() const { return optimised_->bitcode(); }
  AllocatorDecision decision() const { return decision_; }
  /// The number of answers.
  size_t answers() const { return answers_.size(); }
  const PlayedAllocation& allocation() const { return allocation_; }
  /// Returns the question that the next answer is for; null if there is none.
  const AllocatorQuestion* openQuestion() const;
  /// The spills that LLVM's rule leads to, for the whole program.
  const std::vector<SpillCounts>& defaultSpills() const { return defaultSpills_; }

 private:
  RegallocGame(std::shared_ptr<const Program> program, AllocatorDecision decision,
               const boost::filesystem::path& workingDirectory)
      : program_(std::move(program)), decision_(decision), workingDirectory_(workingDirectory) {}

  [[nodiscard]] grpc::Status generate(llvm::CodeGenFileType type, PlayedAllocation& allocation);
  [[nodiscard]] grpc::Status answer(int64_t answer);
  [[nodiscard]] grpc::Status setFunction(const std::string& name);
  [[nodiscard]] grpc::Status assemble();

  const std::shared_ptr<const Program> program_;
  const AllocatorDecision decision_;
  const boost::filesystem::path workingDirectory_;
  // The program that code is generated for.
  std::unique_ptr<Compilation> optimised_;
  std::string function_;
  std::vector<int64_t> answers_;
  PlayedAllocation allocation_;
  std::vector<SpillCounts> defaultSpills_;
  // Counts the changes that affect observations.
  uint64_t version_ = 0;
  // A program that holds only the assembly, and the number of its allocation.
  std::unique_ptr<Compilation> assembled_;
  uint64_t allocations_ = 0;
  uint64_t assembledAllocation_ = 0;
};

}  // namespace compiler_gym::llvm_service
