#include "llvm_service/regalloc/PlayedAllocation.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm_service/Ir.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/SizeMarks.h"
#include "llvm_service/regalloc/EvictionChannel.h"
#include "llvm_service/regalloc/EvictionFeatures.h"

// LLVM installs this header from version 22 on.
#if __has_include("llvm/CodeGen/RegAllocEvictionAdvisor.h")
#define HAS_EVICTION_ADVISOR 1
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#else
#define HAS_EVICTION_ADVISOR 0
#endif

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

/// Answers questions, and records them.
class Player {
 public:
  Player(llvm::ArrayRef<int64_t> answers, const std::string& function, EvictionChannel& channel)
      : answers_(answers), function_(function), channel_(channel) {}

  bool isAskedAbout(llvm::StringRef function) const {
    return function_.empty() || function == function_;
  }

  /// Discards messages that are not questions. The advisor would block if too many were unread.
  void drain() {
    std::optional<std::string> tensors;
    if (status_.ok()) status_ = channel_.read(tensors);
  }

  /// Chooses the answer to the next question before the advisor may ask it.
  void prepare(int64_t byDefault) {
    const size_t number = questions_.size();
    const bool isDecided = number < answers_.size() && answers_[number] != kDefaultEviction;
    next_ = {"", {}, byDefault, isDecided ? answers_[number] : byDefault, isDecided, {}};
    channel_.setAnswer(next_.chosen);
  }

  /// Records the question that the advisor has asked.
  ///
  /// @return true if the player has answered it.
  bool note(llvm::StringRef function) {
    std::optional<std::string> tensors;
    if (status_.ok()) status_ = channel_.read(tensors);
    if (!tensors) return false;
    const size_t number = questions_.size();
    next_.function = function.str();
    std::vector<float> features = decodeEvictionFeatures(*tensors);
    for (size_t i = 0; i < kEvictionCandidates; ++i) next_.mask.push_back(features[i] != 0);
    if (number >= answers_.size() && number < answers_.size() + kFeaturesAhead) {
      next_.features = std::move(features);
    }
    if (next_.decided && !next_.mask[next_.chosen]) {
      status_ = {StatusCode::INVALID_ARGUMENT,
                 "Candidate " + std::to_string(next_.chosen) + " does not answer question " +
                     std::to_string(number) + " about " + next_.function};
      next_.decided = false;
      next_.chosen = next_.byDefault;
    }
    questions_.push_back(std::move(next_));
    return questions_.back().decided;
  }

  const Status& status() const { return status_; }
  std::vector<EvictionQuestion>& questions() { return questions_; }

 private:
  const llvm::ArrayRef<int64_t> answers_;
  const std::string& function_;
  EvictionChannel& channel_;
  EvictionQuestion next_{};
  std::vector<EvictionQuestion> questions_;
  Status status_;
};

#if HAS_EVICTION_ADVISOR

/// Follows LLVM's own rule unless the player has answered the question that LLVM's interactive
/// advisor asks in the same place.
class PlayedAdvisor final : public llvm::RegAllocEvictionAdvisor {
 public:
  PlayedAdvisor(const llvm::MachineFunction& function, const llvm::RAGreedy& allocator,
                std::unique_ptr<llvm::RegAllocEvictionAdvisor> interactive, Player& player)
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
    return player_.note(MF.getName()) ? chosen : byRule;
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
  Player& player_;
};

class PlayedProvider final : public llvm::RegAllocEvictionAdvisorProvider {
 public:
  PlayedProvider(llvm::LLVMContext& context, Player& player)
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
  Player& player_;
};

/// The analysis that gives the register allocator its advisor. The first of its kind in a pass
/// manager counts.
class PlayedAnalysis final : public llvm::RegAllocEvictionAdvisorAnalysisLegacy {
 public:
  PlayedAnalysis(llvm::LLVMContext& context, Player& player)
      : RegAllocEvictionAdvisorAnalysisLegacy(AdvisorMode::Release) {
    Provider = std::make_unique<PlayedProvider>(context, player);
  }
};

llvm::Pass* makeAdvisorPass(llvm::LLVMContext& context, Player& player) {
  return new PlayedAnalysis(context, player);
}

#else

llvm::Pass* makeAdvisorPass(llvm::LLVMContext& /*context*/, Player& /*player*/) { return nullptr; }

#endif

// Reads what the register allocator reports about a whole function.
void noteSpills(const llvm::DiagnosticInfoOptimizationBase& remark,
                std::vector<SpillCounts>& spills) {
  if (remark.getRemarkName() != "SpillReloadCopies") return;
  SpillCounts counts{remark.getFunction().getName().str()};
  for (const auto& argument : remark.getArgs()) {
    const llvm::StringRef key = argument.Key;
    int64_t count = 0;
    double cost = 0;
    if (key.starts_with("Num") && !llvm::StringRef(argument.Val).getAsInteger(10, count)) {
      (key.contains("Spills")    ? counts.spills
       : key.contains("Reloads") ? counts.reloads
                                 : counts.copies) += count;
    } else if (key.starts_with("Total") && !llvm::StringRef(argument.Val).getAsDouble(cost)) {
      counts.cost += cost;
    }
  }
  spills.push_back(std::move(counts));
}

}  // namespace

Status generateWithEvictions(llvm::StringRef bitcode, llvm::ArrayRef<int64_t> answers,
                             const std::string& function,
                             const boost::filesystem::path& workingDirectory,
                             llvm::CodeGenFileType type, PlayedAllocation& allocation) {
  if (!HAS_EVICTION_ADVISOR) {
    return {StatusCode::UNIMPLEMENTED,
            "LLVM " LLVM_VERSION_STRING
            " has no interface to its register allocator. Use LLVM 22 or later"};
  }
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode, owned));
  optimizeAsClangAtO0(*owned.module);
  markForSize(*owned.module);
  std::unique_ptr<EvictionChannel> channel;
  RETURN_IF_ERROR(EvictionChannel::open(workingDirectory, channel));
  Player player(answers, function, *channel);
  std::unique_ptr<CodeGenerator> generator;
  RETURN_IF_ERROR(CodeGenerator::make(*owned.module, generator, llvm::CodeGenOptLevel::Default,
                                      {makeAdvisorPass(owned.context->get(), player), type}));
  allocation.spills.clear();
  owned.context->setRemarkHandler(
      [&](const auto& remark) { noteSpills(remark, allocation.spills); });
  allocation.output = generator->run(*owned.module).str();
  RETURN_IF_ERROR(player.status());
  if (const std::string errors = owned.context->takeErrors(); !errors.empty()) {
    return {StatusCode::INVALID_ARGUMENT, "Code generation failed: " + errors};
  }
  allocation.questions = std::move(player.questions());
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
