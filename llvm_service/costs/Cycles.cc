#include "llvm_service/costs/Cycles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/TargetMachine.h"

namespace compiler_gym::llvm_service {

namespace {

// The cost of one call of a function.
struct Work {
  // Cycles of its own instructions.
  double cycles = 0;
  struct Call {
    const llvm::Function* callee;
    double times;
  };
  std::vector<Call> calls;
};

using Works = llvm::DenseMap<const llvm::Function*, Work>;
using Totals = llvm::DenseMap<const llvm::Function*, double>;

double costOf(const llvm::Instruction& instruction, const llvm::TargetTransformInfo& target) {
  const llvm::InstructionCost cost =
      target.getInstructionCost(&instruction, llvm::TargetTransformInfo::TCK_RecipThroughput);
  // An instruction without a cost is one that the target cannot compile, e.g. with vectors of
  // unknown length.
#if LLVM_VERSION_MAJOR >= 21
  return cost.isValid() ? static_cast<double>(cost.getValue()) : 1;
#else
  return cost.isValid() ? static_cast<double>(*cost.getValue()) : 1;
#endif
}

// Computes its own analyses rather than those of the session, since passes may do more if an
// analysis is cached.
class BlockTimes {
 public:
  explicit BlockTimes(const llvm::Function& function)
      // LLVM's constructor takes a non-const function, but does not change it.
      : tree_(const_cast<llvm::Function&>(function)),
        loops_(tree_),
        probabilities_(function, loops_),
        frequencies_(function, probabilities_, loops_),
        ofEntry_(static_cast<double>(frequencies_.getEntryFreq().getFrequency())) {}

  // Returns the frequency of a block for one call of the function.
  double operator()(const llvm::BasicBlock& block) const {
    const auto frequency = static_cast<double>(frequencies_.getBlockFreq(&block).getFrequency());
    return ofEntry_ > 0 ? frequency / ofEntry_ : 1;
  }

 private:
  const llvm::DominatorTree tree_;
  const llvm::LoopInfo loops_;
  const llvm::BranchProbabilityInfo probabilities_;
  const llvm::BlockFrequencyInfo frequencies_;
  const double ofEntry_;
};

Work workOf(const llvm::Function& function, const llvm::TargetTransformInfo& target) {
  Work work;
  const BlockTimes times(function);
  for (const llvm::BasicBlock& block : function) {
    const double count = times(block);
    for (const llvm::Instruction& instruction : block) {
      work.cycles += count * costOf(instruction, target);
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && !callee->isDeclaration()) {
        work.calls.push_back({callee, count});
      }
    }
  }
  return work;
}

Works workOfAll(const llvm::Module& module) {
  const auto machine = createTargetMachine(module, llvm::CodeGenOptLevel::None);
  Works works;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) {
      const llvm::TargetTransformInfo target =
          machine ? machine->getTargetTransformInfo(function)
                  : llvm::TargetTransformInfo(module.getDataLayout());
      works.try_emplace(&function, workOf(function, target));
    }
  }
  return works;
}

// Returns the cycles of one call of each function, callees included. Computes callees first.
Totals totalOfAll(const llvm::Module& module, const Works& works) {
  Totals totals;
  // The graph only reads calls.
  llvm::CallGraph graph(const_cast<llvm::Module&>(module));
  for (auto group = llvm::scc_begin(&graph); !group.isAtEnd(); ++group) {
    // Functions that call each other have no right order. A call to a member of the group adds only
    // that member's own cycles.
    std::vector<std::pair<const llvm::Function*, double>> sums;
    for (const llvm::CallGraphNode* node : *group) {
      const auto work = works.find(node->getFunction());
      if (work == works.end()) {
        continue;
      }
      double sum = work->second.cycles;
      for (const Work::Call& call : work->second.calls) {
        const auto known = totals.find(call.callee);
        sum += call.times *
               (known != totals.end() ? known->second : works.find(call.callee)->second.cycles);
      }
      sums.emplace_back(node->getFunction(), sum);
    }
    totals.insert(sums.begin(), sums.end());
  }
  return totals;
}

bool isCalledFromOutside(const llvm::Function& function, bool hasMain) {
  return function.hasAddressTaken() ||
         (hasMain ? function.getName() == "main" : !function.hasLocalLinkage());
}

}  // namespace

int64_t cyclesEstimate(const llvm::Module& module) {
  const llvm::Function* main = module.getFunction("main");
  const bool hasMain = main != nullptr && !main->isDeclaration();
  const Totals totals = totalOfAll(module, workOfAll(module));
  double sum = 0;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && isCalledFromOutside(function, hasMain)) {
      sum += totals.lookup(&function);
    }
  }
  return static_cast<int64_t>(std::llround(std::min(sum, std::ldexp(1.0, 62))));
}

}  // namespace compiler_gym::llvm_service
