#include <memory>
#include <string>
#include <utility>

#include "llvm_service/regalloc/AllocatorPlayer.h"

// LLVM installs this header from version 22 on.
#if __has_include("llvm/CodeGen/RegAllocPriorityAdvisor.h")
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"

namespace compiler_gym::llvm_service {

namespace {

/// Gives a live range the priority of the player, or that of LLVM's own rule. LLVM's interactive
/// advisor computes the features, because only LLVM knows the stage. It asks for a float, which
/// cannot hold all priorities of the rule, so its result is not used.
class PlayedAdvisor final : public llvm::RegAllocPriorityAdvisor {
 public:
  PlayedAdvisor(const llvm::MachineFunction& function, const llvm::RAGreedy& allocator,
                llvm::SlotIndexes& indexes,
                std::unique_ptr<llvm::RegAllocPriorityAdvisor> interactive, AllocatorPlayer& player)
      : RegAllocPriorityAdvisor(function, allocator, &indexes),
        function_(function.getName()),
        rule_(std::make_unique<llvm::DefaultPriorityAdvisor>(function, allocator, &indexes)),
        interactive_(std::move(interactive)),
        player_(player) {}

  unsigned getPriority(const llvm::LiveInterval& range) const final {
    const unsigned byRule = rule_->getPriority(range);
    if (!interactive_) return byRule;
    player_.prepare(byRule);
    if (player_.keepsFeatures()) interactive_->getPriority(range);
    return player_.notePriority(function_, range.getSize());
  }

 private:
  const std::string function_;
  const std::unique_ptr<llvm::RegAllocPriorityAdvisor> rule_;
  // Null for functions without questions.
  const std::unique_ptr<llvm::RegAllocPriorityAdvisor> interactive_;
  AllocatorPlayer& player_;
};

class PlayedProvider final : public llvm::RegAllocPriorityAdvisorProvider {
 public:
  explicit PlayedProvider(AllocatorPlayer& player)
      : RegAllocPriorityAdvisorProvider(AdvisorMode::Release),
        interactive_(llvm::createReleaseModePriorityAdvisorProvider()),
        player_(player) {}

  std::unique_ptr<llvm::RegAllocPriorityAdvisor> getAdvisor(const llvm::MachineFunction& function,
                                                            const llvm::RAGreedy& allocator,
                                                            llvm::SlotIndexes& indexes) final {
    std::unique_ptr<llvm::RegAllocPriorityAdvisor> interactive;
    if (player_.isAskedAbout(function.getName())) {
      interactive = interactive_->getAdvisor(function, allocator, indexes);
      player_.drain();
    }
    return std::make_unique<PlayedAdvisor>(function, allocator, indexes, std::move(interactive),
                                           player_);
  }

 private:
  const std::unique_ptr<llvm::RegAllocPriorityAdvisorProvider> interactive_;
  AllocatorPlayer& player_;
};

/// The analysis that gives the register allocator its advisor.
class PlayedAnalysis final : public llvm::RegAllocPriorityAdvisorAnalysisLegacy {
 public:
  explicit PlayedAnalysis(AllocatorPlayer& player)
      : RegAllocPriorityAdvisorAnalysisLegacy(AdvisorMode::Release) {
    Provider = std::make_unique<PlayedProvider>(player);
  }
};

}  // namespace

llvm::Pass* makePriorityPass(AllocatorPlayer& player) { return new PlayedAnalysis(player); }

}  // namespace compiler_gym::llvm_service

#else

namespace compiler_gym::llvm_service {

llvm::Pass* makePriorityPass(AllocatorPlayer& /*player*/) { return nullptr; }

}  // namespace compiler_gym::llvm_service

#endif
