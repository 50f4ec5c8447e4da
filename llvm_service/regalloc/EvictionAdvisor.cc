#include <memory>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "llvm_service/regalloc/AllocatorPlayer.h"

// LLVM installs this header from version 22 on.
#if __has_include("llvm/CodeGen/RegAllocEvictionAdvisor.h")
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

namespace compiler_gym::llvm_service {

namespace {

/// Follows LLVM's own rule unless the player has answered the question that LLVM's interactive
/// advisor asks in the same place.
class PlayedAdvisor final : public llvm::RegAllocEvictionAdvisor {
 public:
  PlayedAdvisor(const llvm::MachineFunction& function, const llvm::RAGreedy& allocator,
                std::unique_ptr<llvm::RegAllocEvictionAdvisor> interactive, AllocatorPlayer& player)
      : RegAllocEvictionAdvisor(function, allocator),
        rule_(std::make_unique<llvm::DefaultEvictionAdvisor>(function, allocator)),
        interactive_(std::move(interactive)),
        player_(player) {}

  llvm::MCRegister tryFindEvictionCandidate(
      const llvm::LiveInterval& range, const llvm::AllocationOrder& order, uint8_t costLimit,
      const llvm::SmallVirtRegSet& fixedRegisters) const final {
    const llvm::MCRegister byRule =
        rule_->tryFindEvictionCandidate(range, order, costLimit, fixedRegisters);
    if (!interactive_) return byRule;
    player_.prepare(positionOf(range, byRule));
    const llvm::MCRegister chosen =
        interactive_->tryFindEvictionCandidate(range, order, costLimit, fixedRegisters);
    return player_.noteEviction(MF.getName()) ? chosen : byRule;
  }

  bool canEvictHintInterference(const llvm::LiveInterval& range, llvm::MCRegister reg,
                                const llvm::SmallVirtRegSet& fixedRegisters) const final {
    return rule_->canEvictHintInterference(range, reg, fixedRegisters);
  }

 private:
  // Returns the place of a register among the candidates: first the hints, then the others in the
  // order of the register class. LLVM does not install the header of AllocationOrder.
  int64_t positionOf(const llvm::LiveInterval& range, llvm::MCRegister reg) const {
    if (!reg) return kEvictNothing;
    const llvm::ArrayRef<llvm::MCPhysReg> others =
        RegClassInfo.getOrder(MRI->getRegClass(range.reg()));
    llvm::SmallVector<llvm::MCPhysReg, 16> hints;
    TRI->getRegAllocationHints(range.reg(), others, hints, MF, VRM, Matrix);
    int64_t position = 0;
    for (const llvm::MCPhysReg each : hints) {
      if (each == reg) return position;
      ++position;
    }
    for (const llvm::MCPhysReg each : others) {
      if (each == reg) return position;
      if (!llvm::is_contained(hints, each)) ++position;
    }
    return kEvictNothing;
  }

  const std::unique_ptr<llvm::RegAllocEvictionAdvisor> rule_;
  // Null for functions without questions.
  const std::unique_ptr<llvm::RegAllocEvictionAdvisor> interactive_;
  AllocatorPlayer& player_;
};

class PlayedProvider final : public llvm::RegAllocEvictionAdvisorProvider {
 public:
  PlayedProvider(llvm::LLVMContext& context, AllocatorPlayer& player)
      : RegAllocEvictionAdvisorProvider(AdvisorMode::Release, context),
        interactive_(llvm::createReleaseModeAdvisorProvider(context)),
        player_(player) {}

  std::unique_ptr<llvm::RegAllocEvictionAdvisor> getAdvisor(
      const llvm::MachineFunction& function, const llvm::RAGreedy& allocator,
      llvm::MachineBlockFrequencyInfo* frequencies, llvm::MachineLoopInfo* loops) final {
    std::unique_ptr<llvm::RegAllocEvictionAdvisor> interactive;
    if (player_.isAskedAbout(function.getName())) {
      interactive = interactive_->getAdvisor(function, allocator, frequencies, loops);
      player_.drain();
    }
    return std::make_unique<PlayedAdvisor>(function, allocator, std::move(interactive), player_);
  }

 private:
  const std::unique_ptr<llvm::RegAllocEvictionAdvisorProvider> interactive_;
  AllocatorPlayer& player_;
};

/// The analysis that gives the register allocator its advisor.
class PlayedAnalysis final : public llvm::RegAllocEvictionAdvisorAnalysisLegacy {
 public:
  PlayedAnalysis(llvm::LLVMContext& context, AllocatorPlayer& player)
      : RegAllocEvictionAdvisorAnalysisLegacy(AdvisorMode::Release) {
    Provider = std::make_unique<PlayedProvider>(context, player);
  }
};

}  // namespace

llvm::Pass* makeEvictionPass(llvm::LLVMContext& context, AllocatorPlayer& player) {
  return new PlayedAnalysis(context, player);
}

}  // namespace compiler_gym::llvm_service

#else

namespace compiler_gym::llvm_service {

llvm::Pass* makeEvictionPass(llvm::LLVMContext& /*context*/, AllocatorPlayer& /*player*/) {
  return nullptr;
}

}  // namespace compiler_gym::llvm_service

#endif
