#include <array>

#include "llvm/IR/Instruction.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/observations/FunctionParts.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Instruction;

// TotalInsts, TotalBlocks and TotalFuncs come before the opcodes.
constexpr size_t kTotals = 3;

// The opcodes of the 70-dimensional vector, in the order of LLVM 10, with any version of LLVM.
constexpr std::array<unsigned, 67> kOpcodes = {
    Instruction::Ret,
    kBranchOpcodes<>[0],
    Instruction::Switch,
    Instruction::IndirectBr,
    Instruction::Invoke,
    Instruction::Resume,
    Instruction::Unreachable,
    Instruction::CleanupRet,
    Instruction::CatchRet,
    Instruction::CatchSwitch,
    Instruction::CallBr,
    Instruction::FNeg,
    Instruction::Add,
    Instruction::FAdd,
    Instruction::Sub,
    Instruction::FSub,
    Instruction::Mul,
    Instruction::FMul,
    Instruction::UDiv,
    Instruction::SDiv,
    Instruction::FDiv,
    Instruction::URem,
    Instruction::SRem,
    Instruction::FRem,
    Instruction::Shl,
    Instruction::LShr,
    Instruction::AShr,
    Instruction::And,
    Instruction::Or,
    Instruction::Xor,
    Instruction::Alloca,
    Instruction::Load,
    Instruction::Store,
    Instruction::GetElementPtr,
    Instruction::Fence,
    Instruction::AtomicCmpXchg,
    Instruction::AtomicRMW,
    Instruction::Trunc,
    Instruction::ZExt,
    Instruction::SExt,
    Instruction::FPToUI,
    Instruction::FPToSI,
    Instruction::UIToFP,
    Instruction::SIToFP,
    Instruction::FPTrunc,
    Instruction::FPExt,
    Instruction::PtrToInt,
    Instruction::IntToPtr,
    Instruction::BitCast,
    Instruction::AddrSpaceCast,
    Instruction::CleanupPad,
    Instruction::CatchPad,
    Instruction::ICmp,
    Instruction::FCmp,
    Instruction::PHI,
    Instruction::Call,
    Instruction::Select,
    Instruction::UserOp1,
    Instruction::UserOp2,
    Instruction::VAArg,
    Instruction::ExtractElement,
    Instruction::InsertElement,
    Instruction::ShuffleVector,
    Instruction::ExtractValue,
    Instruction::InsertValue,
    Instruction::LandingPad,
    Instruction::Freeze,
};

// Returns the place in the vector for each opcode of this LLVM. Opcodes that LLVM 10 did not have
// get 0, the place of TotalInsts.
std::vector<size_t> placesOfOpcodes() {
  std::vector<size_t> places(256, 0);
  for (size_t i = 0; i < kOpcodes.size(); ++i) {
    places[kOpcodes[i]] = kTotals + i;
  }
  for (const unsigned branch : kBranchOpcodes<>) {
    places[branch] = places[kBranchOpcodes<>[0]];
  }
  return places;
}

void addInstCount(const llvm::Function& function, llvm::MutableArrayRef<int64_t> counts) {
  static const std::vector<size_t> places = placesOfOpcodes();
  int64_t instructions = 0;
  ++counts[2];
  for (const llvm::BasicBlock& block : function) {
    ++counts[1];
    for (const Instruction& instruction : block) {
      ++instructions;
      ++counts[places[instruction.getOpcode()]];
    }
  }
  counts[0] = instructions;
}

}  // namespace

/// InstCount: int64[70]. Instructions, basic blocks and functions (declarations included), then the
/// number of instructions of each opcode of LLVM 10. Instructions of newer opcodes, of which LLVM
/// 22 has one (ptrtoaddr), count among all instructions only.
Observations instCount() {
  constexpr size_t size = kTotals + kOpcodes.size();
  return {{countsSpace("InstCount", size), sumOverFunctions(size, addInstCount)}};
}

}  // namespace compiler_gym::llvm_service
