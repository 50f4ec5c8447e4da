#include "llvm_service/passes/SizeFeatures.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/FunctionPropertiesAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm_service/passes/CallSites.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::CallBase;
using llvm::Function;
using llvm::Instruction;

constexpr unsigned kSmallBits = 8;
constexpr uint64_t kSmallVariable = 32;

void addOperand(const llvm::Value& operand, Features& features) {
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&operand)) {
    features[number->getValue().isSignedIntN(kSmallBits) ? "small constants" : "constants"]++;
  } else if (llvm::isa<llvm::GlobalValue>(operand)) {
    features["globals"]++;
  } else if (llvm::isa<llvm::ConstantFP>(operand)) {
    features["float constants"]++;
  }
}

void addCall(const CallBase& call, Features& features) {
  const Function* callee = call.getCalledFunction();
  features[callee == nullptr ? "indirect calls" : "direct calls"]++;
  features["passed arguments"] += call.arg_size();
}

// Adds what a variable on the stack needs. Instructions are longer if their operands are far away.
void addVariable(const llvm::AllocaInst& variable, Features& features) {
  const auto bytes = variable.getAllocationSize(variable.getDataLayout());
  if (!bytes || bytes->isScalable()) return;
  features["stack bytes"] += bytes->getFixedValue();
  features["arrays on the stack"] += bytes->getFixedValue() > kSmallVariable;
}

// True if another block uses a value, which then needs a register or a slot of the stack.
bool isUsedElsewhere(const Instruction& instruction) {
  return llvm::any_of(instruction.users(), [&](const llvm::User* user) {
    return llvm::cast<Instruction>(user)->getParent() != instruction.getParent();
  });
}

// True for values that are made before a loop.
bool isOuter(const llvm::Value& value, const llvm::Loop& loop) {
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  return llvm::isa<llvm::Argument>(value) ||
         (instruction != nullptr && !loop.contains(instruction));
}

void addInstruction(const Instruction& instruction, Features& features) {
  if (instruction.isLifetimeStartOrEnd()) return;
  features[instruction.getOpcodeName()]++;
  if (const auto* call = llvm::dyn_cast<CallBase>(&instruction)) {
    if (llvm::isa<llvm::IntrinsicInst>(instruction)) {
      features["intrinsics"]++;
    } else {
      addCall(*call, features);
    }
  }
  for (const llvm::Use& operand : instruction.operands()) addOperand(*operand, features);
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    addVariable(*variable, features);
  }
  if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
    features["cases"] += choice->getNumCases();
  }
  if (const auto* merge = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    features["merged values"] += merge->getNumIncomingValues();
  }
  if (instruction.getType()->isFPOrFPVectorTy()) features["float values"]++;
  if (instruction.getType()->isVectorTy()) features["vectors"]++;
  if (instruction.getType()->isIntegerTy(64)) features["wide values"]++;
  if (isUsedElsewhere(instruction)) features["values of several blocks"]++;
}

// Returns what an operand is that passes may move out of a loop; empty for others.
llvm::StringRef invariantKind(const llvm::Value& operand, const llvm::Loop& loop) {
  if (llvm::isa<llvm::GlobalVariable>(operand)) return "globals in loops";
  if (llvm::isa<llvm::ConstantFP>(operand)) return "floats in loops";
  if (llvm::isa<llvm::AllocaInst>(operand)) return "addresses in loops";
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&operand);
  if (number != nullptr) {
    return number->getValue().isSignedIntN(kSmallBits) ? "" : "constants in loops";
  }
  return isOuter(operand, loop) ? "outer values in loops" : "";
}

// Adds the counts of the outermost loops.
void addLoops(const llvm::LoopInfo& loops, Features& features) {
  for (const llvm::Loop* loop : loops) {
    llvm::SmallPtrSet<const llvm::Value*, 16> known;
    for (const llvm::BasicBlock* block : loop->blocks()) {
      for (const Instruction& instruction : *block) {
        const auto* call = llvm::dyn_cast<CallBase>(&instruction);
        features["instructions in loops"]++;
        features["calls in loops"] += call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call);
        for (const llvm::Use& operand : instruction.operands()) {
          const llvm::StringRef kind = invariantKind(*operand, *loop);
          if (kind.empty()) continue;
          features[kind]++;
          features["repeated values in loops"] +=
              kind != "outer values in loops" && !known.insert(operand.get()).second;
        }
      }
    }
  }
}

// Adds the counts that need no option of LLVM.
void addProperties(Function& function, llvm::FunctionAnalysisManager& analyses,
                   Features& features) {
  const auto found = llvm::FunctionPropertiesInfo::getFunctionPropertiesInfo(function, analyses);
  features["blocks"] = found.BasicBlockCount;
  features["conditional blocks"] = found.BlocksReachedFromConditionalInstruction;
  features["uses"] = found.Uses;
  features["calls of own functions"] = found.DirectCallsToDefinedFunctions;
  features["loop depth"] = found.MaxLoopDepth;
  features["loops"] = found.TopLevelLoopCount;
  features["instructions"] = found.TotalInstructionCount;
}

}  // namespace

Features featuresOf(Function& function, llvm::FunctionAnalysisManager& analyses) {
  Features features;
  addProperties(function, analyses, features);
  for (const Instruction& instruction : llvm::instructions(function)) {
    addInstruction(instruction, features);
  }
  addLoops(analyses.getResult<llvm::LoopAnalysis>(function), features);
  features["arguments"] = function.arg_size();
  features["local"] = function.hasLocalLinkage();
  features["discardable"] = function.isDiscardableIfUnused();
  features["has address taken"] = function.hasAddressTaken();
  features["has unwind table"] = function.hasUWTable();
  features["returns a value"] = !function.getReturnType()->isVoidTy();
  return features;
}

CallsByCallee decidableCalls(llvm::Module& module, const ModuleTraits& traits,
                             llvm::FunctionAnalysisManager& analyses) {
  const auto targetOf = [&](Function& function) -> const llvm::TargetTransformInfo& {
    return analyses.getResult<llvm::TargetIRAnalysis>(function);
  };
  CallsByCallee found;
  const auto calls = callSites(module);
  for (const size_t number : openCallSites(module, targetOf)) {
    CallBase& call = *calls[number];
    Function& callee = *call.getCalledFunction();
    if (call.getFunction()->hasMinSize() && callee.hasMinSize() && traits.permits(call)) {
      found[&callee].push_back(&call);
    }
  }
  return found;
}

Features featuresOfCalls(Function& callee, llvm::ArrayRef<CallBase*> calls,
                         llvm::FunctionAnalysisManager& analyses) {
  Features features = featuresOf(callee, analyses);
  llvm::SmallPtrSet<Function*, 8> callers;
  for (CallBase* call : calls) {
    if (callers.insert(call->getFunction()).second) {
      features["instructions of callers"] += call->getFunction()->getInstructionCount();
    }
    features["constant arguments"] += constantsOf(*call);
  }
  features["calls"] = calls.size();
  features["callers"] = callers.size();
  features["other uses"] = otherUsesOf(callee);
  features["instructions of all calls"] = features["instructions"] * calls.size();
  return features;
}

}  // namespace compiler_gym::llvm_service
