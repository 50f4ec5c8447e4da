#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llvm_service/games/Game.h"
#include "llvm_service/inlining/InlineActions.h"
#include "llvm_service/passes/InlineDecisions.h"

namespace compiler_gym::llvm_service {

/// A call of the unoptimised program, by the number that it has in callSites().
struct InlineSite {
  std::string caller;
  std::string callee;
  /// The number of the callee, as in InlineDecision.
  size_t calleeNumber;
  /// True if the player can decide about it; see openCallSites().
  bool isOpen;
};

/// The number of the inliner's questions about a call and its copies, by answer.
struct InlineCounts {
  int64_t inlined = 0;
  int64_t kept = 0;
};

/// A program, decisions about its calls, and what `clang -Oz` makes of it with these. An action is
/// a decision; see InlineActions.h. The episode ends when the inliner has no further question, if
/// the actions are answers.
///
/// Whenever a decision has changed, the pipeline is run from its beginning: what results depends on
/// the program and on the decisions, and not on how they came about.
class InlineGame final : public Game {
 public:
  /// An update computes the features of so many questions. Later ones get theirs by another update.
  static constexpr size_t kFeaturesAhead = 128;

  /// Optimises with LLVM's own decisions.
  ///
  /// @param isInOrder whether decisions answer the inliner's questions.
  /// @param workingDirectory where scratch directories are made.
  [[nodiscard]] static grpc::Status start(std::shared_ptr<const Program> program, bool isInOrder,
                                          const boost::filesystem::path& workingDirectory,
                                          std::unique_ptr<InlineGame>& game);

  /// Decides. A decision about something that the program does not have, or that cannot be decided,
  /// or an answer when there is no question, changes nothing.
  ///
  /// @return whether something is decided otherwise than before, or a question is answered.
  bool decide(const InlineDecision& decision);

  /// Optimises the program with the decisions, unless that has been done. DATA_LOSS if the result
  /// is not valid.
  [[nodiscard]] grpc::Status update();

  [[nodiscard]] grpc::Status view(const Observation& observation, View& view) final;
  void visitCompilations(const Visitor& visitor) final { visitor(*compilation_); }
  [[nodiscard]] grpc::Status apply(size_t index, int actionsLeft, const LlvmSettings& settings,
                                   Outcome& outcome) final;

  const std::vector<InlineSite>& sites() const { return sites_; }
  /// The decision about each of them.
  const std::vector<InlineChoice>& choices() const { return choices_; }
  /// The number of answers to questions.
  size_t answers() const { return answers_.size(); }

  /// The following is from the last update.

  /// Counts the programs that decisions have led to.
  uint64_t updates() const { return version_; }
  /// Counts the updates and the answers.
  uint64_t version() const { return version_ + answers_.size(); }
  Compilation& compilation() { return *compilation_; }
  const Compilation& compilation() const { return *compilation_; }
  /// All that the inliner has asked.
  const std::vector<InlineQuestion>& questions() const { return questions_; }
  /// The one that the next answer is for; null if there is none.
  const InlineQuestion* openQuestion() const;
  /// See InlineFeatures.h. Zeros if there is no open question.
  std::vector<int64_t> featuresOfQuestion() const;

  /// The answers to questions about each site.
  std::vector<InlineCounts> counts() const { return countsOf(questions_); }
  /// The answers of LLVM itself to questions about each site.
  const std::vector<InlineCounts>& defaultCounts() const { return defaultCounts_; }
  /// The IR instructions that LLVM's own decisions lead to.
  int64_t defaultInstructions() const { return defaultInstructions_; }

  /// The features of each site when the inliner first asks about it, or zeros: a row for each.
  /// Optimises the program once more.
  [[nodiscard]] grpc::Status featuresOfSites(std::vector<std::vector<int64_t>>& rows) const;

 private:
  InlineGame(std::shared_ptr<const Program> program, bool isInOrder,
             const boost::filesystem::path& workingDirectory);

  std::vector<InlineDecision> decisions() const;
  std::vector<InlineCounts> countsOf(const std::vector<InlineQuestion>& questions) const;
  [[nodiscard]] grpc::Status listSites();
  bool answer(InlineChoice choice);
  bool decideSites(const InlineDecision& decision);

  const std::shared_ptr<const Program> program_;
  const bool isInOrder_;
  const boost::filesystem::path workingDirectory_;
  std::vector<InlineSite> sites_;
  std::vector<InlineChoice> choices_;
  std::vector<InlineChoice> answers_;
  bool isCurrent_ = false;
  uint64_t version_ = 0;
  std::unique_ptr<Compilation> compilation_;
  std::vector<InlineQuestion> questions_;
  // Indexed by question, if they are answered in order. Empty for those that are answered or late.
  std::vector<std::vector<int64_t>> features_;
  std::vector<InlineCounts> defaultCounts_;
  int64_t defaultInstructions_ = 0;
};

}  // namespace compiler_gym::llvm_service
