#include "llvm_service/passes/CallSites.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Attribute;
using llvm::CallBase;
using llvm::Function;
using llvm::Module;

bool isDecided(const CallBase& call) {
  return call.hasFnAttr(Attribute::NoInline) || call.hasFnAttr(Attribute::AlwaysInline);
}

// True if the call can be inlined. C99's inline functions are left to LLVM: a program without
// another definition of them links only if LLVM inlines them.
bool canBeInlined(Function& caller, Function& callee, TargetInfo targetOf) {
  return !callee.isInterposable() && !callee.hasAvailableExternallyLinkage() &&
         !callee.isPresplitCoroutine() && !caller.hasFnAttribute(Attribute::OptimizeNone) &&
         !callee.hasFnAttribute(Attribute::OptimizeNone) &&
         llvm::AttributeFuncs::areInlineCompatible(caller, callee) &&
         targetOf(callee).areInlineCompatible(&caller, &callee) &&
         llvm::isInlineViable(callee).isSuccess();
}

}  // namespace

llvm::DenseSet<const Function*> recursiveFunctions(Module& module) {
  llvm::DenseSet<const Function*> functions;
  llvm::CallGraph graph(module);
  for (auto group = llvm::scc_begin(&graph); !group.isAtEnd(); ++group) {
    if (group.hasCycle()) {
      for (const llvm::CallGraphNode* node : *group) {
        functions.insert(node->getFunction());
      }
    }
  }
  return functions;
}

llvm::SmallVector<CallBase*> callSites(Module& module) {
  llvm::SmallVector<CallBase*> calls;
  for (Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<CallBase>(&instruction);
      const Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
      if (callee != nullptr && !callee->isDeclaration()) {
        calls.push_back(call);
      }
    }
  }
  return calls;
}

std::vector<size_t> openCallSites(Module& module, TargetInfo targetOf) {
  std::vector<size_t> numbers;
  const auto endless = recursiveFunctions(module);
  for (auto [number, call] : llvm::enumerate(callSites(module))) {
    Function& callee = *call->getCalledFunction();
    if (!isDecided(*call) && !endless.contains(&callee) &&
        canBeInlined(*call->getFunction(), callee, targetOf)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

int64_t constantsOf(const CallBase& call) {
  return llvm::count_if(call.args(),
                        [](const llvm::Use& it) { return llvm::isa<llvm::Constant>(it); });
}

int64_t otherUsesOf(const Function& function) {
  return llvm::count_if(function.uses(), [](const llvm::Use& use) {
    const auto* call = llvm::dyn_cast<CallBase>(use.getUser());
    return call == nullptr || !call->isCallee(&use);
  });
}

void decideCall(CallBase& call, bool inlined) {
  call.removeFnAttr(inlined ? Attribute::NoInline : Attribute::AlwaysInline);
  call.addFnAttr(inlined ? Attribute::AlwaysInline : Attribute::NoInline);
}

}  // namespace compiler_gym::llvm_service
