#include "llvm_service/passes/FunctionTraits.h"

#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Attribute;
using llvm::CallBase;
using llvm::Function;
using llvm::Instruction;
using llvm::Module;
using llvm::StringRef;

constexpr llvm::StringLiteral kKeepAnnotation = "compiler_gym:keep";
constexpr llvm::StringLiteral kKeepAttribute = "compiler_gym-keep";

using Traits = llvm::SmallSetVector<StringRef, 4>;

bool isUsual(llvm::CallingConv::ID convention) {
  using namespace llvm::CallingConv;
  return llvm::is_contained<unsigned>(
      {C, Fast, Cold, X86_StdCall, X86_FastCall, X86_ThisCall, X86_64_SysV, ARM_APCS, ARM_AAPCS,
       ARM_AAPCS_VFP, AArch64_VectorCall},
      convention);
}

bool isUsual(llvm::EHPersonality personality) {
  using llvm::EHPersonality;
  return llvm::is_contained({EHPersonality::GNU_C, EHPersonality::GNU_CXX, EHPersonality::GNU_Ada,
                             EHPersonality::GNU_ObjC, EHPersonality::Rust},
                            personality);
}

// Attributes of functions whose prologue, epilogue or frame has additional code.
constexpr std::pair<StringRef, StringRef> kSpecialAttributes[] = {
    {"interrupt", "interrupt"},
    {"signal", "interrupt"},
    {"split-stack", "split stack"},
    {"patchable-function", "patchable entry"},
    {"patchable-function-entry", "patchable entry"},
    {"fentry-call", "patchable entry"},
    {"xray-instruction-threshold", "patchable entry"},
    {"instrument-function-entry", "patchable entry"},
    {"instrument-function-entry-inlined", "patchable entry"},
    {"cmse_nonsecure_entry", "secure entry"},
    {"aarch64_pstate_sm_enabled", "streaming mode"},
    {"aarch64_pstate_sm_body", "streaming mode"},
    {"aarch64_pstate_sm_compatible", "streaming mode"},
};

constexpr std::pair<Attribute::AttrKind, StringRef> kSpecialKinds[] = {
    {Attribute::Naked, "naked"},
    {Attribute::SafeStack, "safe stack"},
    {Attribute::ShadowCallStack, "shadow call stack"},
    {Attribute::StrictFP, "strict floating point"},
    {Attribute::SanitizeMemory, "sanitizer"},
    {Attribute::SanitizeHWAddress, "sanitizer"},
    {Attribute::SanitizeMemTag, "sanitizer"},
};

// Returns the special traits that a function has by its declaration.
Traits traitsOfDeclaration(const Function& function) {
  Traits traits;
  for (const auto& [attribute, trait] : kSpecialAttributes) {
    if (function.hasFnAttribute(attribute)) traits.insert(trait);
  }
  for (const auto& [kind, trait] : kSpecialKinds) {
    if (function.hasFnAttribute(kind)) traits.insert(trait);
  }
  if (!isUsual(function.getCallingConv())) traits.insert("calling convention");
  if (function.hasPersonalityFn() &&
      !isUsual(llvm::classifyEHPersonality(function.getPersonalityFn()))) {
    traits.insert("exception handling");
  }
  if (function.isPresplitCoroutine()) traits.insert("coroutine");
  if (function.hasGC() || function.hasPrefixData() || function.hasPrologueData()) {
    traits.insert("prologue");
  }
  if (function.hasMetadata("kcfi_type")) traits.insert("kcfi");
  if (function.getFnAttribute("target-features").getValueAsString().contains("+reserve-")) {
    traits.insert("fixed registers");
  }
  return traits;
}

// True for intrinsics that read or write the stack pointer, the frame pointer or other registers.
bool isAboutRegisters(llvm::Intrinsic::ID intrinsic) {
  using namespace llvm::Intrinsic;
  return llvm::is_contained<unsigned>(
      {read_register, read_volatile_register, write_register, frameaddress, sponentry,
       addressofreturnaddress, stacksave, stackrestore, localescape, localrecover, eh_return_i32,
       eh_return_i64, eh_unwind_init, experimental_stackmap, experimental_patchpoint},
      intrinsic);
}

void addTraitsOfCall(const CallBase& call, Traits& traits) {
  if (call.isInlineAsm()) traits.insert("inline assembly");
  if (llvm::isa<llvm::CallBrInst>(call)) traits.insert("asm goto");
  if (call.hasFnAttr(Attribute::ReturnsTwice)) traits.insert("setjmp");
  if (!isUsual(call.getCallingConv())) traits.insert("calling convention");
  if (call.getOperandBundle(llvm::LLVMContext::OB_kcfi)) traits.insert("kcfi");
  if (call.hasFnAttr("cmse_nonsecure_call")) traits.insert("secure entry");
  if (isAboutRegisters(call.getIntrinsicID())) traits.insert("registers by name");
  // clang reports calls of these functions that are left in the end.
  const Function* callee = call.getCalledFunction();
  const bool hasToGo = callee != nullptr && (callee->hasFnAttribute("dontcall-error") ||
                                             callee->hasFnAttribute("dontcall-warn"));
  if (hasToGo) traits.insert("call that has to go");
  const bool isOnStack =
      call.hasInAllocaArgument() || call.countOperandBundlesOfType("preallocated") > 0;
  if (isOnStack) traits.insert("argument memory");
}

// Returns the special traits of the code of a function, which inlining copies into others.
Traits traitsOfCode(const Function& function) {
  Traits traits;
  for (const llvm::BasicBlock& block : function) {
    if (block.hasAddressTaken()) traits.insert("address of a label");
  }
  for (const Instruction& instruction : llvm::instructions(function)) {
    const auto* room = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (room != nullptr && !room->isStaticAlloca()) traits.insert("dynamic alloca");
    if (llvm::isa<llvm::IndirectBrInst>(instruction)) traits.insert("address of a label");
    if (const auto* call = llvm::dyn_cast<CallBase>(&instruction)) addTraitsOfCall(*call, traits);
  }
  return traits;
}

// True if calls of a function can be inlined, now or after recursion has become a loop.
bool canBeInlined(Function& function) {
  const llvm::InlineResult result = llvm::isInlineViable(function);
  return result.isSuccess() || StringRef(result.getFailureReason()) == "recursive call";
}

// Stands for all functions that calls through pointers and aliases may reach. LLVM may find out
// which one a call reaches, and inline it.
constexpr Function* kByPointer = nullptr;

llvm::SmallVector<Function*> inlinableByPointer(Module& module) {
  llvm::SmallVector<Function*> functions;
  for (Function& function : module) {
    if (!function.isDeclaration() && function.hasAddressTaken() &&
        !function.hasFnAttribute(Attribute::NoInline) && canBeInlined(function)) {
      functions.push_back(&function);
    }
  }
  return functions;
}

llvm::SmallVector<Function*> inlinableCallees(Function& function) {
  llvm::SmallSetVector<Function*, 8> callees;
  for (const Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<CallBase>(&instruction);
    if (call == nullptr || call->isInlineAsm()) continue;
    Function* callee = call->getCalledFunction();
    const bool isInlined = !call->isNoInline() || call->hasFnAttr(Attribute::AlwaysInline);
    if (callee == nullptr) {
      callees.insert(kByPointer);
    } else if (!callee->isDeclaration() && isInlined && canBeInlined(*callee)) {
      callees.insert(callee);
    }
  }
  return callees.takeVector();
}

// Adds the traits of functions to those that they may be inlined into.
void spread(llvm::DenseMap<const Function*, Traits>& traits, Module& module) {
  llvm::DenseMap<const Function*, llvm::SmallVector<Function*>> callees;
  llvm::SmallVector<const Function*> callers = {kByPointer};
  callees[kByPointer] = inlinableByPointer(module);
  for (Function& function : module) {
    callers.push_back(&function);
    callees[&function] = inlinableCallees(function);
  }
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (const Function* caller : callers) {
      Traits& mine = traits[caller];
      const size_t before = mine.size();
      for (const Function* callee : callees[caller]) {
        const Traits others = traits.lookup(callee);
        mine.insert(others.begin(), others.end());
      }
      hasChanged |= mine.size() != before;
    }
  }
}

// Returns the function of an annotation to keep it; null for other annotations.
const Function* keptBy(const llvm::Constant& annotation) {
  const auto* function =
      llvm::dyn_cast<Function>(annotation.getAggregateElement(0U)->stripPointerCasts());
  const auto* text =
      llvm::dyn_cast<llvm::GlobalVariable>(annotation.getAggregateElement(1)->stripPointerCasts());
  const auto* data = text != nullptr && text->hasInitializer()
                         ? llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer())
                         : nullptr;
  const bool isKept =
      data != nullptr && data->isCString() && data->getAsCString() == kKeepAnnotation;
  return isKept ? function : nullptr;
}

llvm::SmallPtrSet<const Function*, 8> keptFunctions(const Module& module) {
  llvm::SmallPtrSet<const Function*, 8> kept;
  for (const Function& function : module) {
    if (function.hasFnAttribute(kKeepAttribute)) kept.insert(&function);
  }
  const llvm::GlobalVariable* annotations = module.getNamedGlobal("llvm.global.annotations");
  if (annotations == nullptr || !annotations->hasInitializer()) return kept;
  for (const llvm::Use& use : annotations->getInitializer()->operands()) {
    kept.insert(keptBy(*llvm::cast<llvm::Constant>(use.get())));
  }
  return kept;
}

struct KeepFunctions : llvm::PassInfoMixin<KeepFunctions> {
  llvm::StringSet<> names;

  llvm::PreservedAnalyses run(Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
    for (Function& function : module) {
      const std::string symbol = function.getName().str();
      const std::string readable = llvm::demangle(symbol);
      if (names.contains(symbol) || names.contains(StringRef(readable).split('(').first)) {
        function.addFnAttr(kKeepAttribute);
      }
    }
    return llvm::PreservedAnalyses::none();
  }
};

bool addKeepFunctions(llvm::PassBuilder& /*passBuilder*/, StringRef parameter,
                      llvm::ModulePassManager& manager) {
  KeepFunctions pass;
  for (StringRef name : llvm::split(parameter, ';')) pass.names.insert(name);
  manager.addPass(std::move(pass));
  return !parameter.empty();
}

}  // namespace

bool FunctionTraits::permits(StringRef adjustment) const {
  const bool isPass = !adjustment.contains('=') && !adjustment.starts_with("-");
  return !isExcluded() && !(isPass && (isRecursive || isForTailCalls(adjustment)));
}

bool isForTailCalls(StringRef pass) { return pass == "tailcallelim" || pass == "codegenprepare"; }

ModuleTraits::ModuleTraits(Module& module) {
  llvm::DenseMap<const Function*, Traits> ofCode;
  for (const Function& function : module) ofCode[&function] = traitsOfCode(function);
  spread(ofCode, module);
  const auto kept = keptFunctions(module);
  const auto recursive = recursiveFunctions(module);
  for (const Function& function : module) {
    Traits special = traitsOfDeclaration(function);
    special.insert(ofCode[&function].begin(), ofCode[&function].end());
    FunctionTraits& traits = traits_[&function];
    traits.isKept = kept.contains(&function);
    traits.isRecursive = recursive.contains(&function);
    traits.special.assign(special.begin(), special.end());
  }
}

const FunctionTraits& ModuleTraits::of(const Function& function) const {
  return traits_.find(&function)->second;
}

bool ModuleTraits::permits(const CallBase& call) const {
  return !of(*call.getFunction()).isExcluded() && !of(*call.getCalledFunction()).isExcluded();
}

void registerFunctionTraits(llvm::PassBuilder& passBuilder) {
  byParameter("keep-functions", addKeepFunctions)(passBuilder);
}

}  // namespace compiler_gym::llvm_service
