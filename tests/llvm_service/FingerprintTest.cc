#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm_service/Fingerprint.h"
#include "llvm_service/Ir.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/observations/Observation.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {
namespace {

using namespace llvm;

// A module with at least one of everything that is changed below.
constexpr char kModule[] = R"(
$group = comdat any
@v = global i32 7, align 4
@w = global i32 8, align 4
@array = internal constant [2 x i32] [i32 1, i32 2]
@addresses = global [2 x ptr] [ptr getelementptr (i8, ptr @array, i64 4),
                               ptr getelementptr (i8, ptr @array, i64 4)]
@nested = global { [2 x ptr] } { [2 x ptr] [ptr getelementptr (i8, ptr @array, i64 8), ptr null] }
@other = global { [2 x ptr] } { [2 x ptr] [ptr null, ptr getelementptr (i8, ptr @array, i64 8)] }
@in_group = global i32 0, comdat($group)
@unused = internal global i32 9
@alias = alias i32, ptr @v
@resolved = ifunc void (), ptr @resolver
declare i32 @callee(i32, ptr)
declare i32 @__gxx_personality_v0(...)
define internal ptr @resolver() {
  ret ptr null
}
define i32 @f(i1 %c, i32 %a, i32 %b, ptr %p, float %x, <2 x i32> %v, { i32, i32 } %s)
    personality ptr @__gxx_personality_v0 {
entry:
  %slot = alloca i32, align 4
  %loaded = load i32, ptr %p, align 4, !range !0
  store i32 %loaded, ptr %slot, align 4
  %sum = add i32 %a, %b
  %used = mul i32 %sum, %sum
  %product = fmul float %x, %x
  %wide = zext i32 %a to i64
  %address = getelementptr i32, ptr %p, i64 %wide
  %shuffled = shufflevector <2 x i32> %v, <2 x i32> %v, <2 x i32> <i32 0, i32 3>
  %element = extractvalue { i32, i32 } %s, 0
  %inserted = insertvalue { i32, i32 } %s, i32 %a, 0
  %old = atomicrmw add ptr %p, i32 %a seq_cst, align 4
  %swapped = cmpxchg ptr %p, i32 %a, i32 %b seq_cst seq_cst, align 4
  fence seq_cst
  %result = call i32 @callee(i32 %a, ptr %p)
  store i32 %b, ptr @v, align 4
  %less = icmp slt i32 %a, %b
  br i1 %less, label %left, label %right, !llvm.loop !2
left:
  br label %join
right:
  switch i32 %a, label %join [
    i32 3, label %left
    i32 4, label %invoking
  ]
join:
  %phi = phi i32 [ %a, %left ], [ %b, %right ]
  ret i32 %phi
invoking:
  %invoked = invoke i32 @callee(i32 %b, ptr %p) to label %done unwind label %unwinding
done:
  ret i32 %invoked
unwinding:
  %caught = landingpad { ptr, i32 } cleanup catch ptr null
  resume { ptr, i32 } %caught
}
!named = !{!1}
!0 = !{i32 0, i32 10}
!1 = !{i32 1}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.mustprogress"}
)";

Function& f(Module& module) { return *module.getFunction("f"); }

// The first instruction of its kind in @f.
template <typename Kind>
Kind& first(Module& module) {
  for (BasicBlock& block : f(module)) {
    for (Instruction& instruction : block) {
      if (auto* found = dyn_cast<Kind>(&instruction)) {
        return *found;
      }
    }
  }
  ADD_FAILURE() << "The module has no such instruction";
  std::abort();
}

Instruction& first(Module& module, unsigned opcode) {
  for (BasicBlock& block : f(module)) {
    for (Instruction& instruction : block) {
      if (instruction.getOpcode() == opcode) {
        return instruction;
      }
    }
  }
  ADD_FAILURE() << "The module has no such instruction";
  std::abort();
}

// Makes changes that only some LLVMs have. They are templates, as other LLVMs lack the functions.
template <typename Update>
void makeElementwise(Update& update) {
  if constexpr (kHasElementwise<Update>) {
    update.setElementwise(true);
  }
}

template <typename Function>
void preferAlignment(Function& function) {
  if constexpr (kHasPreferredAlignment<Function>) {
    function.setPreferredAlignment(Align(32));
  }
}

// The branch at the end of the entry of @f.
Instruction& branch(Module& module) { return *f(module).front().getTerminator(); }

GlobalVariable& variable(Module& module, const char* name) {
  return *module.getGlobalVariable(name, /*AllowInternal=*/true);
}

struct Change {
  std::string name;
  std::function<void(Module&)> apply;
};

std::ostream& operator<<(std::ostream& stream, const Change& change) {
  return stream << change.name;
}

std::vector<Change> memoryChanges() {
  return {
      {"LoadAlignment", [](Module& m) { first<LoadInst>(m).setAlignment(Align(1)); }},
      {"LoadVolatile", [](Module& m) { first<LoadInst>(m).setVolatile(true); }},
      {"LoadOrdering", [](Module& m) { first<LoadInst>(m).setAtomic(AtomicOrdering::Monotonic); }},
      {"StoreAlignment", [](Module& m) { first<StoreInst>(m).setAlignment(Align(1)); }},
      {"StoreVolatile", [](Module& m) { first<StoreInst>(m).setVolatile(true); }},
      {"StoreOrdering", [](Module& m) { first<StoreInst>(m).setAtomic(AtomicOrdering::Release); }},
      {"AllocaAlignment", [](Module& m) { first<AllocaInst>(m).setAlignment(Align(16)); }},
      {"AllocaType",
       [](Module& m) { first<AllocaInst>(m).setAllocatedType(Type::getFloatTy(m.getContext())); }},
      {"AllocaInAlloca", [](Module& m) { first<AllocaInst>(m).setUsedWithInAlloca(true); }},
      {"UpdateOperation",
       [](Module& m) { first<AtomicRMWInst>(m).setOperation(AtomicRMWInst::Sub); }},
      {"UpdateOrdering",
       [](Module& m) { first<AtomicRMWInst>(m).setOrdering(AtomicOrdering::Monotonic); }},
      {"UpdateAlignment", [](Module& m) { first<AtomicRMWInst>(m).setAlignment(Align(8)); }},
      {"ExchangeWeak", [](Module& m) { first<AtomicCmpXchgInst>(m).setWeak(true); }},
      {"ExchangeFailureOrdering",
       [](Module& m) {
         first<AtomicCmpXchgInst>(m).setFailureOrdering(AtomicOrdering::Monotonic);
       }},
      {"FenceOrdering",
       [](Module& m) { first<FenceInst>(m).setOrdering(AtomicOrdering::Acquire); }},
      {"FenceScope",
       [](Module& m) { first<FenceInst>(m).setSyncScopeID(SyncScope::SingleThread); }},
      {"AddressSourceType",
       [](Module& m) {
         first<GetElementPtrInst>(m).setSourceElementType(Type::getFloatTy(m.getContext()));
       }},
      {"AddressInBounds", [](Module& m) { first<GetElementPtrInst>(m).setIsInBounds(true); }},
  };
}

std::vector<Change> computationChanges() {
  std::vector<Change> changes = {
      {"NoUnsignedWrap", [](Module& m) { first<BinaryOperator>(m).setHasNoUnsignedWrap(true); }},
      {"FastMath", [](Module& m) { first(m, Instruction::FMul).setHasNoNaNs(true); }},
      {"NonNegative", [](Module& m) { first(m, Instruction::ZExt).setNonNeg(true); }},
      {"OperandOrder", [](Module& m) { first<BinaryOperator>(m).swapOperands(); }},
      {"Predicate", [](Module& m) { first<ICmpInst>(m).setPredicate(CmpInst::ICMP_SLE); }},
      {"ConstantOperand",
       [](Module& m) {
         Instruction& sum = first(m, Instruction::Add);
         sum.setOperand(0, ConstantInt::get(sum.getType(), 5));
       }},
      {"ShuffleMask",
       [](Module& m) {
         // In place, as LLVM's own commute() does.
         auto& shuffle = first<ShuffleVectorInst>(m);
         shuffle.setShuffleMask({3, 0});
       }},
      {"ExtractIndex",
       [](Module& m) {
         auto& extract = first<ExtractValueInst>(m);
         auto* other = ExtractValueInst::Create(extract.getAggregateOperand(), {1}, "",
                                                extract.getIterator());
         extract.replaceAllUsesWith(other);
         extract.eraseFromParent();
       }},
      {"InsertIndex",
       [](Module& m) {
         auto& insert = first<InsertValueInst>(m);
         InsertValueInst::Create(insert.getAggregateOperand(), insert.getInsertedValueOperand(),
                                 {1}, "", insert.getIterator());
         insert.eraseFromParent();
       }},
      {"InstructionErased", [](Module& m) { first<FenceInst>(m).eraseFromParent(); }},
      {"InstructionMoved",
       [](Module& m) {
         Instruction& fence = first<FenceInst>(m);
         auto& update = first<AtomicRMWInst>(m);
         fence.moveBefore(*update.getParent(), update.getIterator());
       }},
      {"InstructionAdded",
       [](Module& m) {
         first(m, Instruction::Add).clone()->insertBefore(first<FenceInst>(m).getIterator());
       }},
      {"MetadataRemoved",
       [](Module& m) { first<LoadInst>(m).setMetadata(LLVMContext::MD_range, nullptr); }},
      {"MetadataChanged",
       [](Module& m) {
         first<LoadInst>(m).setMetadata(
             LLVMContext::MD_range,
             MDBuilder(m.getContext()).createRange(APInt(32, 0), APInt(32, 11)));
       }},
      {"BranchWeightsAdded",
       [](Module& m) {
         branch(m).setMetadata(LLVMContext::MD_prof,
                               MDBuilder(m.getContext()).createBranchWeights(1, 2));
       }},
  };
  // Such as the names of loops, which change in place.
  changes.push_back({"DistinctNode", [](Module& m) {
                       branch(m)
                           .getMetadata(LLVMContext::MD_loop)
                           ->replaceOperandWith(1, MDNode::get(m.getContext(), {}));
                     }});
#if LLVM_VERSION_MAJOR >= 20  // Comparisons had no such flag before.
  changes.push_back({"SameSign", [](Module& m) { first<ICmpInst>(m).setSameSign(); }});
#endif
  if (kHasElementwise<AtomicRMWInst>) {
    changes.push_back(
        {"UpdateElementwise", [](Module& m) { makeElementwise(first<AtomicRMWInst>(m)); }});
  }
  if (kHasPreferredAlignment<Function>) {
    changes.push_back({"PreferredAlignment", [](Module& m) { preferAlignment(f(m)); }});
  }
  return changes;
}

std::vector<Change> controlFlowChanges() {
  return {
      {"PhiBlocksSwapped",
       [](Module& m) {
         auto& phi = first<PHINode>(m);
         BasicBlock* block = phi.getIncomingBlock(0);
         phi.setIncomingBlock(0, phi.getIncomingBlock(1));
         phi.setIncomingBlock(1, block);
       }},
      {"SwitchCaseValue",
       [](Module& m) {
         auto& branches = first<SwitchInst>(m);
         branches.case_begin()->setValue(
             cast<ConstantInt>(ConstantInt::get(branches.getCondition()->getType(), 9)));
       }},
      {"SwitchCaseRemoved",
       [](Module& m) {
         auto& branches = first<SwitchInst>(m);
         branches.removeCase(branches.case_begin());
       }},
      {"BranchSwapped",
       [](Module& m) {
         BasicBlock* taken = branch(m).getSuccessor(0);
         branch(m).setSuccessor(0, branch(m).getSuccessor(1));
         branch(m).setSuccessor(1, taken);
       }},
      {"BlocksReordered", [](Module& m) { f(m).back().moveBefore(&*std::next(f(m).begin())); }},
      {"LandingPadCleanup", [](Module& m) { first<LandingPadInst>(m).setCleanup(false); }},
      {"BlockAdded",
       [](Module& m) {
         new UnreachableInst(m.getContext(), BasicBlock::Create(m.getContext(), "", &f(m)));
       }},
  };
}

std::vector<Change> callChanges() {
  return {
      {"CallAttribute", [](Module& m) { first<CallInst>(m).setDoesNotThrow(); }},
      {"CallArgumentAttribute",
       [](Module& m) { first<CallInst>(m).addParamAttr(1, Attribute::NonNull); }},
      {"CallTail", [](Module& m) { first<CallInst>(m).setTailCall(); }},
      {"CallConvention", [](Module& m) { first<CallInst>(m).setCallingConv(CallingConv::Fast); }},
      {"InvokeAttribute", [](Module& m) { first<InvokeInst>(m).setDoesNotThrow(); }},
      {"CallBundle",
       [](Module& m) {
         auto& call = first<CallInst>(m);
         auto* other = CallInst::Create(&call, OperandBundleDef("deopt", call.getArgOperand(0)),
                                        call.getIterator());
         call.replaceAllUsesWith(other);
         call.eraseFromParent();
       }},
      {"CalledFunction", [](Module& m) { first<CallInst>(m).setCalledOperand(f(m).getArg(3)); }},
  };
}

std::vector<Change> functionChanges() {
  return {
      {"FunctionRenamed", [](Module& m) { f(m).setName("g"); }},
      {"FunctionAttribute", [](Module& m) { f(m).setDoesNotThrow(); }},
      {"FunctionTextAttribute", [](Module& m) { f(m).addFnAttr("some", "text"); }},
      {"FunctionArgumentAttribute", [](Module& m) { f(m).addParamAttr(3, Attribute::NonNull); }},
      {"FunctionLinkage", [](Module& m) { f(m).setLinkage(GlobalValue::InternalLinkage); }},
      {"FunctionVisibility", [](Module& m) { f(m).setVisibility(GlobalValue::HiddenVisibility); }},
      {"FunctionUnnamedAddress",
       [](Module& m) { f(m).setUnnamedAddr(GlobalValue::UnnamedAddr::Global); }},
      {"FunctionConvention", [](Module& m) { f(m).setCallingConv(CallingConv::Fast); }},
      {"FunctionAlignment", [](Module& m) { f(m).setAlignment(Align(32)); }},
      {"FunctionSection", [](Module& m) { f(m).setSection("elsewhere"); }},
      {"FunctionCollector", [](Module& m) { f(m).setGC("shadow-stack"); }},
      {"FunctionPersonality", [](Module& m) { f(m).setPersonalityFn(m.getFunction("callee")); }},
      {"FunctionPrefix",
       [](Module& m) {
         f(m).setPrefixData(ConstantInt::get(Type::getInt32Ty(m.getContext()), 5));
       }},
      {"FunctionLocal", [](Module& m) { f(m).setDSOLocal(true); }},
      {"FunctionPartition", [](Module& m) { f(m).setPartition("part"); }},
      {"FunctionMetadata",
       [](Module& m) {
         f(m).setMetadata(LLVMContext::MD_prof,
                          MDBuilder(m.getContext()).createFunctionEntryCount(3, false, nullptr));
       }},
      {"FunctionsReordered",
       [](Module& m) {
         m.getFunctionList().splice(m.begin(), m.getFunctionList(), f(m).getIterator());
       }},
      {"DeclarationRemoved",
       [](Module& m) {
         first<CallInst>(m).setCalledOperand(f(m).getArg(3));
         first<InvokeInst>(m).setCalledOperand(f(m).getArg(3));
         m.getFunction("callee")->eraseFromParent();
       }},
  };
}

std::vector<Change> globalChanges() {
  return {
      {"VariableInitialiser",
       [](Module& m) {
         GlobalVariable& v = variable(m, "v");
         v.setInitializer(ConstantInt::get(v.getValueType(), 6));
       }},
      {"VariableElement",
       [](Module& m) {
         GlobalVariable& array = variable(m, "array");
         array.setInitializer(ConstantAggregateZero::get(array.getValueType()));
       }},
      {"VariableConstant", [](Module& m) { variable(m, "v").setConstant(true); }},
      {"VariableAlignment", [](Module& m) { variable(m, "v").setAlignment(Align(16)); }},
      {"VariableThreadLocal", [](Module& m) { variable(m, "v").setThreadLocal(true); }},
      {"VariableSection", [](Module& m) { variable(m, "v").setSection("elsewhere"); }},
      {"VariableExternallyInitialised",
       [](Module& m) { variable(m, "v").setExternallyInitialized(true); }},
      {"VariableAttribute", [](Module& m) { variable(m, "v").addAttribute("some", "text"); }},
      {"VariableCodeModel", [](Module& m) { variable(m, "v").setCodeModel(CodeModel::Large); }},
      {"VariableGroup", [](Module& m) { variable(m, "in_group").setComdat(nullptr); }},
      {"GroupSelection",
       [](Module& m) { variable(m, "in_group").getComdat()->setSelectionKind(Comdat::Largest); }},
      {"VariableSanitizer",
       [](Module& m) {
         GlobalValue::SanitizerMetadata metadata;
         metadata.NoAddress = true;
         variable(m, "v").setSanitizerMetadata(metadata);
       }},
      {"VariableRemoved", [](Module& m) { variable(m, "unused").eraseFromParent(); }},
      {"AliasTarget", [](Module& m) { m.getNamedAlias("alias")->setAliasee(&variable(m, "w")); }},
      {"AliasVisibility",
       [](Module& m) { m.getNamedAlias("alias")->setVisibility(GlobalValue::HiddenVisibility); }},
      {"ResolverChanged",
       [](Module& m) { m.getNamedIFunc("resolved")->setResolver(m.getFunction("callee")); }},
      {"NamedMetadata",
       [](Module& m) { m.getNamedMetadata("named")->addOperand(MDNode::get(m.getContext(), {})); }},
      {"ModuleAssembly", [](Module& m) { m.setModuleInlineAsm(std::string("nop")); }},
      {"ModuleTriple", [](Module& m) { m.setTargetTriple(asTarget(Triple("aarch64-linux-gnu"))); }},
      {"ModuleLayout", [](Module& m) { m.setDataLayout("e-m:e-i64:64"); }},
  };
}

std::vector<Change> useListChanges() {
  std::vector<Change> changes = {
      {"UsesOfArgument", [](Module& m) { f(m).getArg(1)->reverseUseList(); }},
      {"UsesOfInstruction", [](Module& m) { first(m, Instruction::Add).reverseUseList(); }},
      {"UsesOfBlock", [](Module& m) { first<PHINode>(m).getParent()->reverseUseList(); }},
      {"UsesOfFunction", [](Module& m) { m.getFunction("callee")->reverseUseList(); }},
      {"UsesOfVariable", [](Module& m) { variable(m, "v").reverseUseList(); }},
      // Constants share their storage with others of the same context.
      {"UsesOfNestedConstant",
       [](Module& m) {
         const Constant* outer = variable(m, "nested").getInitializer();
         auto* address = cast<Constant>(cast<Constant>(outer->getOperand(0))->getOperand(0));
         cast<ConstantExpr>(address)->reverseUseList();
       }},
      {"UsesSorted",
       [](Module& m) {
         std::vector<const Use*> order;
         for (const Use& use : f(m).getArg(1)->uses()) {
           order.insert(order.begin(), &use);
         }
         f(m).getArg(1)->sortUseList([&](const Use& left, const Use& right) {
           return find(order, &left) < find(order, &right);
         });
       }},
  };
  if (kPlainConstantsHaveUses<>) {
    changes.push_back({"UsesOfPlainConstant", [](Module& m) {
                         auto* pointer = PointerType::getUnqual(m.getContext());
                         ConstantPointerNull::get(pointer)->reverseUseList();
                       }});
  }
  return changes;
}

std::vector<Change> allChanges() {
  std::vector<Change> all;
  for (const auto& changes :
       {memoryChanges(), computationChanges(), controlFlowChanges(), callChanges(),
        functionChanges(), globalChanges(), useListChanges()}) {
    all.insert(all.end(), changes.begin(), changes.end());
  }
  return all;
}

/// All hashes of a module.
std::vector<uint64_t> fingerprint(const Module& module) {
  std::vector<uint64_t> all = {fingerprintOfFrame(module)};
  std::vector<const Constant*> constants;
  for (const Function& function : module) {
    append_range(constants, compoundConstants(constantUses(function)));
    all.push_back(fingerprintOfHeader(function));
    all.push_back(fingerprintOfBody(function).exact);
  }
  all.push_back(fingerprintOfUses(module, {constants}));
  return all;
}

class FingerprintTest : public ::testing::TestWithParam<Change> {};

TEST_P(FingerprintTest, ChangesWithTheModule) {
  OwnedModule owned;
  ASSERT_THAT(parseIr(kModule, owned), IsOk());
  const std::vector<uint64_t> before = fingerprint(*owned.module);
  const std::string bitcodeBefore = writeBitcode(*owned.module);
  ASSERT_EQ(fingerprint(*owned.module), before);
  GetParam().apply(*owned.module);
  ASSERT_NE(writeBitcode(*owned.module), bitcodeBefore) << "The change is not one";
  EXPECT_NE(fingerprint(*owned.module), before);
}

INSTANTIATE_TEST_SUITE_P(Change, FingerprintTest, ::testing::ValuesIn(allChanges()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace compiler_gym::llvm_service
