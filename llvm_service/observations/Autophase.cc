#include "llvm/Analysis/CFG.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/observations/FunctionParts.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Instruction;

// The features in their order on the wire.
enum Feature : size_t {
  kBBNumArgsHi,
  kBBNumArgsLo,
  kOnePred,
  kOnePredOneSuc,
  kOnePredTwoSuc,
  kOneSuccessor,
  kTwoPred,
  kTwoPredOneSuc,
  kTwoEach,
  kTwoSuccessor,
  kMorePreds,
  kBB03Phi,
  kBBHiPhi,
  kBBNoPhi,
  kBeginPhi,
  kBranchCount,
  kReturnInt,
  kCriticalCount,
  kNumEdges,
  kConst32Bit,
  kConst64Bit,
  kNumConstZeroes,
  kNumConstOnes,
  kUncondBranches,
  kBinaryConstArg,
  kNumAShrInst,
  kNumAddInst,
  kNumAllocaInst,
  kNumAndInst,
  kBlockMid,
  kBlockLow,
  kNumBitCastInst,
  kNumBrInst,
  kNumCallInst,
  kNumGetElementPtrInst,
  kNumICmpInst,
  kNumLShrInst,
  kNumLoadInst,
  kNumMulInst,
  kNumOrInst,
  kNumPHIInst,
  kNumRetInst,
  kNumSExtInst,
  kNumSelectInst,
  kNumShlInst,
  kNumStoreInst,
  kNumSubInst,
  kNumTruncInst,
  kNumXorInst,
  kNumZExtInst,
  kTotalBlocks,
  kTotalInsts,
  kTotalMemInst,
  kTotalFuncs,
  kArgsPhi,
  kTestUnary,
  kNumFeatures,
};
static_assert(kNumFeatures == 56);

// The limits between small and large in some features.
constexpr unsigned kLowPhis = 3;
constexpr unsigned kLowPhiArguments = 5;
constexpr unsigned kLowBlockSize = 15;
constexpr unsigned kMidBlockSize = 500;

// Returns the feature that counts instructions of one opcode.
size_t featureOfOpcode(unsigned opcode) {
  if (isBranch(opcode)) {
    return kNumBrInst;
  }
  switch (opcode) {
    case Instruction::AShr:
      return kNumAShrInst;
    case Instruction::Add:
      return kNumAddInst;
    case Instruction::Alloca:
      return kNumAllocaInst;
    case Instruction::And:
      return kNumAndInst;
    case Instruction::BitCast:
      return kNumBitCastInst;
    case Instruction::Call:
      return kNumCallInst;
    case Instruction::GetElementPtr:
      return kNumGetElementPtrInst;
    case Instruction::ICmp:
      return kNumICmpInst;
    case Instruction::LShr:
      return kNumLShrInst;
    case Instruction::Load:
      return kNumLoadInst;
    case Instruction::Mul:
      return kNumMulInst;
    case Instruction::Or:
      return kNumOrInst;
    case Instruction::PHI:
      return kNumPHIInst;
    case Instruction::Ret:
      return kNumRetInst;
    case Instruction::SExt:
      return kNumSExtInst;
    case Instruction::Select:
      return kNumSelectInst;
    case Instruction::Shl:
      return kNumShlInst;
    case Instruction::Store:
      return kNumStoreInst;
    case Instruction::Sub:
      return kNumSubInst;
    case Instruction::Trunc:
      return kNumTruncInst;
    case Instruction::Xor:
      return kNumXorInst;
    case Instruction::ZExt:
      return kNumZExtInst;
    default:
      return kNumFeatures;
  }
}

bool accessesMemory(unsigned opcode) {
  switch (opcode) {
    case Instruction::GetElementPtr:
    case Instruction::Load:
    case Instruction::Store:
    case Instruction::Call:
    case Instruction::Invoke:
    case Instruction::Alloca:
      return true;
    default:
      return false;
  }
}

class Autophase {
 public:
  explicit Autophase(llvm::MutableArrayRef<int64_t> counts) : counts_(counts) {}

  void addFunction(const llvm::Function& function) {
    ++counts_[kTotalFuncs];
    for (const llvm::BasicBlock& block : function) {
      addBlock(block);
    }
  }

 private:
  void addBlock(const llvm::BasicBlock& block) {
    ++counts_[kTotalBlocks];
    addEdges(block);
    addPhis(block);
    unsigned size = 0;
    for (const Instruction& instruction : block) {
      ++size;
      addInstruction(instruction);
    }
    counts_[kBlockLow] += size < kLowBlockSize;
    counts_[kBlockMid] += size >= kLowBlockSize && size <= kMidBlockSize;
  }

  void addEdges(const llvm::BasicBlock& block) {
    const Instruction* terminator = block.getTerminator();
    const unsigned successors = terminator->getNumSuccessors();
    const size_t predecessors = llvm::pred_size(&block);
    counts_[kNumEdges] += successors;
    for (unsigned i = 0; i < successors; ++i) {
      counts_[kCriticalCount] += llvm::isCriticalEdge(terminator, i);
    }
    counts_[kOneSuccessor] += successors == 1;
    counts_[kTwoSuccessor] += successors == 2;
    counts_[kOnePred] += predecessors == 1;
    counts_[kTwoPred] += predecessors == 2;
    counts_[kMorePreds] += predecessors > 2;
    counts_[kOnePredOneSuc] += predecessors == 1 && successors == 1;
    counts_[kOnePredTwoSuc] += predecessors == 1 && successors == 2;
    counts_[kTwoPredOneSuc] += predecessors == 2 && successors == 1;
    counts_[kTwoEach] += predecessors == 2 && successors == 2;
  }

  void addPhis(const llvm::BasicBlock& block) {
    unsigned phis = 0;
    unsigned arguments = 0;
    for (const llvm::PHINode& phi : block.phis()) {
      ++phis;
      arguments += phi.getNumIncomingValues();
    }
    counts_[kBBNoPhi] += phis == 0;
    counts_[kBB03Phi] += phis > 0 && phis <= kLowPhis;
    counts_[kBBHiPhi] += phis > kLowPhis;
    counts_[kBeginPhi] += phis > 0;
    counts_[kBBNumArgsLo] += arguments > 0 && arguments <= kLowPhiArguments;
    counts_[kBBNumArgsHi] += arguments > kLowPhiArguments;
    counts_[kArgsPhi] += arguments;
  }

  void addInstruction(const Instruction& instruction) {
    ++counts_[kTotalInsts];
    const unsigned opcode = instruction.getOpcode();
    if (const size_t feature = featureOfOpcode(opcode); feature != kNumFeatures) {
      ++counts_[feature];
    }
    counts_[kTotalMemInst] += accessesMemory(opcode);
    // Freeze is derived from UnaryInstruction, but in some LLVMs isa<> does not say so.
    counts_[kTestUnary] += llvm::isa<llvm::UnaryInstruction, llvm::FreezeInst>(instruction);
    if (isBranch(opcode)) {
      ++counts_[kBranchCount];
      counts_[kUncondBranches] += instruction.getNumSuccessors() == 1;
    } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      counts_[kReturnInt] += callee != nullptr && callee->getReturnType()->isIntegerTy();
    }
    addConstants(instruction);
  }

  void addConstants(const Instruction& instruction) {
    // Case values count, because they were operands in the LLVM that defined the features. In some
    // versions they still are.
    if (const auto* branches = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
      addInteger(*branches->getCondition());
      for (const auto& branch : branches->cases()) {
        addInteger(*branch.getCaseValue());
      }
      return;
    }
    bool constantOperand = false;
    for (const llvm::Use& operand : instruction.operands()) {
      constantOperand |= llvm::isa<llvm::Constant>(operand);
      addInteger(*operand);
    }
    counts_[kBinaryConstArg] += constantOperand && instruction.isBinaryOp();
  }

  void addInteger(const llvm::Value& value) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
      counts_[kConst32Bit] += constant->getBitWidth() == 32;
      counts_[kConst64Bit] += constant->getBitWidth() == 64;
      counts_[kNumConstZeroes] += constant->isZero();
      counts_[kNumConstOnes] += constant->isOne();
    }
  }

  const llvm::MutableArrayRef<int64_t> counts_;
};

}  // namespace

/// Autophase: int64[56], the features of Haj-Ali et al., "AutoPhase: Juggling HLS Phase Orderings
/// in Random Forests with Deep Reinforcement Learning", MLSys 2020. Counts over all functions of
/// the module; TotalFuncs includes declarations.
Observations autophase() {
  const auto add = [](const llvm::Function& function, llvm::MutableArrayRef<int64_t> counts) {
    Autophase(counts).addFunction(function);
  };
  return {{countsSpace("Autophase", kNumFeatures), sumOverFunctions(kNumFeatures, add)}};
}

}  // namespace compiler_gym::llvm_service
