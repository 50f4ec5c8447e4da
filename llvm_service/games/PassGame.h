#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "llvm_service/games/Game.h"

namespace compiler_gym::llvm_service {

/// An action is one pass, which changes the program. The episode has no end.
class PassGame final : public Game {
 public:
  PassGame(const ActionList& actions, std::unique_ptr<Compilation> compilation)
      : actions_(actions), compilation_(std::move(compilation)) {}

  [[nodiscard]] grpc::Status apply(size_t index, int actionsLeft, const LlvmSettings& settings,
                                   Outcome& outcome) final;
  [[nodiscard]] grpc::Status view(const Observation& observation, View& view) final;
  void visitCompilations(const Visitor& visitor) final { visitor(*compilation_); }

  /// Knows llvm.apply_baseline_optimizations and llvm.get_baseline_counts.
  [[nodiscard]] grpc::Status handleParameter(const std::string& key, const std::string& value,
                                             const LlvmSettings& settings,
                                             std::optional<std::string>& reply) final;

  /// Saves the program before the action, and a command for `opt`. See Reproducer.h.
  [[nodiscard]] grpc::Status saveReproducer(size_t index,
                                            const boost::filesystem::path& directory) final;

 private:
  /// The action of that index as it is applied: if the settings ask for it, followed by an
  /// invalidation of all analyses.
  const Action& actionAt(size_t index, const LlvmSettings& settings);
  [[nodiscard]] grpc::Status run(const Action& action, const LlvmSettings& settings, bool& changed);
  [[nodiscard]] grpc::Status applyBaseline(const std::string& value, const LlvmSettings& settings,
                                           std::optional<std::string>& reply);

  const ActionList& actions_;
  // By index. Before the compilation, whose history refers to them.
  std::unordered_map<size_t, Action> forgetful_;
  const std::unique_ptr<Compilation> compilation_;
};

}  // namespace compiler_gym::llvm_service
