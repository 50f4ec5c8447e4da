#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llvm_service/games/Game.h"
#include "llvm_service/inlining/InlineGame.h"
#include "llvm_service/regalloc/RegallocGame.h"

namespace compiler_gym::llvm_service {

/// The questions of the inliner of `clang -Oz`, as in InlineGame, and then those of the register
/// allocator about the program that results, as in RegallocGame. The episode ends with the last
/// question.
///
/// LLVM decides whatever is not answered, so the program is complete at any time: at first it is
/// that of `clang -Oz -c`. Registers are allocated again when something needs the object file after
/// an answer about a call has changed the program.
class InlineRegallocGame final : public Game {
 public:
  /// Actions before kFirstEviction answer the inliner, those from there on the register allocator,
  /// in the order of RegallocGame. The last one leaves either answer to LLVM.
  static constexpr size_t kKeep = 0;
  static constexpr size_t kInline = 1;
  static constexpr size_t kFirstEviction = 2;
  static constexpr size_t kDefault = kFirstEviction + kEvictionCandidates;

  /// @param workingDirectory the directory for scratch directories.
  [[nodiscard]] static grpc::Status start(std::shared_ptr<const Program> program,
                                          const boost::filesystem::path& workingDirectory,
                                          std::unique_ptr<InlineRegallocGame>& game);

  /// @return INVALID_ARGUMENT if the open question has no such answer, or LLVM cannot allocate
  ///     registers after it.
  [[nodiscard]] grpc::Status apply(size_t index, int actionsLeft, const LlvmSettings& settings,
                                   Outcome& outcome) final;
  [[nodiscard]] grpc::Status view(const Observation& observation, View& view) final;
  void visitCompilations(const Visitor& visitor) final;

  /// The answers about calls, and what they lead to.
  const InlineGame& inlining() const { return *inlining_; }
  /// The answers about registers, and what both lead to, after view().
  const RegallocGame& registers() const { return *registers_; }
  /// True if the open question is one of the inliner.
  bool isAboutCall() const { return inlining_->openQuestion() != nullptr; }

 private:
  InlineRegallocGame() = default;

  [[nodiscard]] grpc::Status answerCall(size_t index, const LlvmSettings& settings,
                                        Outcome& outcome);
  [[nodiscard]] grpc::Status answerRegister(size_t index, const LlvmSettings& settings,
                                            Outcome& outcome);
  // Allocates the registers of the program that the calls lead to, unless that has been done.
  [[nodiscard]] grpc::Status allocate();

  std::unique_ptr<InlineGame> inlining_;
  std::unique_ptr<RegallocGame> registers_;
  // The program of inlining_ whose registers are allocated.
  uint64_t allocated_ = 0;
  uint64_t version_ = 0;
};

}  // namespace compiler_gym::llvm_service
