#include <unordered_map>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Instruction;
using llvm::PHINode;
using llvm::Value;

/// The instructions of one block, each with its counterpart in another block.
using Counterparts = llvm::DenseMap<const Value*, const Value*>;

// True for instructions that must not move to other control flow, or would need new phis.
bool isUnmovable(const Instruction& instruction) {
  if (llvm::isa<PHINode, llvm::AllocaInst>(instruction) || instruction.isEHPad() ||
      instruction.getType()->isTokenTy()) {
    return true;
  }
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && (call->isConvergent() || call->cannotDuplicate() ||
                             call->hasOperandBundles() || call->isInlineAsm());
}

// True if a value is only used by its own block or the phis at its successors.
bool staysAtHome(const Instruction& instruction) {
  const BasicBlock* home = instruction.getParent();
  return llvm::all_of(instruction.uses(), [home](const llvm::Use& use) {
    const auto* user = llvm::cast<Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<PHINode>(user);
    return phi != nullptr ? phi->getIncomingBlock(use) == home : user->getParent() == home;
  });
}

// True for terminators that only refer to values and blocks. Others depend on their place, e.g. by
// unwinding.
bool hasPlainEnd(const BasicBlock& block) {
  const Instruction* end = block.getTerminator();
  return isBranch(end->getOpcode()) || llvm::isa<llvm::ReturnInst, llvm::UnreachableInst>(end);
}

// False after `callbr`, whose destinations must differ.
bool isEnteredByBranches(const BasicBlock& block) {
  return llvm::none_of(llvm::predecessors(&block), [](const BasicBlock* predecessor) {
    return llvm::isa<llvm::CallBrInst>(predecessor->getTerminator());
  });
}

bool canBeMerged(const BasicBlock& block) {
  return !block.isEntryBlock() && !block.hasAddressTaken() && hasPlainEnd(block) &&
         isEnteredByBranches(block) && llvm::none_of(block, isUnmovable) &&
         llvm::all_of(block, staysAtHome);
}

// Equal for identical blocks. Local values are left out, as they have counterparts.
llvm::hash_code hashOf(const BasicBlock& block) {
  llvm::hash_code hash(block.size());
  for (const Instruction& instruction : block) {
    hash = llvm::hash_combine(hash, instruction.getOpcode(), instruction.getType());
    for (const Value* operand : instruction.operands()) {
      const auto* local = llvm::dyn_cast<Instruction>(operand);
      if (local == nullptr || local->getParent() != &block) {
        hash = llvm::hash_combine(hash, operand);
      }
    }
  }
  return hash;
}

const Value* counterpart(const Counterparts& counterparts, const Value* value) {
  const auto found = counterparts.find(value);
  return found == counterparts.end() ? value : found->second;
}

bool areIdentical(const Instruction& one, const Instruction& other,
                  const Counterparts& counterparts) {
  if (!one.isSameOperationAs(&other)) {
    return false;
  }
  for (unsigned i = 0; i < one.getNumOperands(); ++i) {
    if (counterpart(counterparts, other.getOperand(i)) != one.getOperand(i)) {
      return false;
    }
  }
  // A loop's hints belong to its latch, and may not hold for another one.
  return one.getMetadata(llvm::LLVMContext::MD_loop) ==
         other.getMetadata(llvm::LLVMContext::MD_loop);
}

// True if all phis get the same value from both blocks, which must both be predecessors.
bool giveTheSame(BasicBlock& one, BasicBlock& other, const Counterparts& counterparts) {
  for (BasicBlock* successor : llvm::successors(&one)) {
    for (const PHINode& phi : successor->phis()) {
      const Value* value = phi.getIncomingValueForBlock(&other);
      if (counterpart(counterparts, value) != phi.getIncomingValueForBlock(&one)) {
        return false;
      }
    }
  }
  return true;
}

bool areTwins(BasicBlock& one, BasicBlock& other) {
  if (one.size() != other.size()) {
    return false;
  }
  Counterparts counterparts;
  for (auto [kept, dropped] : llvm::zip(one, other)) {
    if (!areIdentical(kept, dropped, counterparts)) {
      return false;
    }
    counterparts[&dropped] = &kept;
  }
  return giveTheSame(one, other, counterparts);
}

// Keeps only those flags and metadata of the instructions that hold in both blocks.
void generalise(BasicBlock& kept, const BasicBlock& dropped) {
  for (auto [one, other] : llvm::zip(kept, dropped)) {
    if (!one.isTerminator()) {
      one.andIRFlags(&other);
      llvm::combineMetadataForCSE(&one, &other, /*DoesKMove=*/true);
    }
  }
  kept.getTerminator()->setMetadata(llvm::LLVMContext::MD_prof, nullptr);
}

// Redirects all predecessors of a block to its twin, which has no phis.
void replace(BasicBlock& block, BasicBlock& twin) {
  generalise(twin, block);
  const llvm::SmallVector<BasicBlock*, 4> predecessors(llvm::predecessors(&block));
  for (BasicBlock* predecessor : predecessors) {
    predecessor->getTerminator()->replaceSuccessorWith(&block, &twin);
  }
}

// Merges all blocks that are identical now.
bool mergeOnce(Function& function) {
  const llvm::DominatorTree dominators(function);
  std::unordered_map<size_t, llvm::SmallVector<BasicBlock*, 2>> candidates;
  llvm::SmallVector<BasicBlock*, 8> replaced;
  for (BasicBlock& block : function) {
    if (!dominators.isReachableFromEntry(&block) || !canBeMerged(block)) {
      continue;
    }
    auto& similar = candidates[hashOf(block)];
    BasicBlock** twin =
        llvm::find_if(similar, [&](BasicBlock* other) { return areTwins(*other, block); });
    if (twin == similar.end()) {
      similar.push_back(&block);
    } else {
      replace(block, **twin);
      replaced.push_back(&block);
    }
  }
  llvm::DeleteDeadBlocks(replaced);
  return !replaced.empty();
}

struct MergeIdenticalBlocks : llvm::PassInfoMixin<MergeIdenticalBlocks> {
  llvm::PreservedAnalyses run(Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
    bool changed = false;
    while (mergeOnce(function)) {  // Blocks that lead to merged ones may be identical now.
      changed = true;
    }
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

}  // namespace

/// Replaces blocks with the same instructions and successors by one. On IR, LLVM only merges code
/// from the end of blocks upwards. It merges whole blocks in machine code only.
OwnPass mergeIdenticalBlocks() {
  return functionPass<MergeIdenticalBlocks>(
      "merge-identical-blocks",
      "Replaces basic blocks that do the same and lead to the same places by one of them");
}

}  // namespace compiler_gym::llvm_service
