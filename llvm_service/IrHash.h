#pragma once

#include <cstdint>
#include <optional>

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm_service/LlvmCompatibility.h"

/// The common part of the hashes of a module: a walk over the contents of its bitcode. The hasher,
/// a template parameter, identifies values by address or by content. It derives from WordHasher,
/// and has these members:
///
///     void addOperand(const llvm::Use&)   which value this is
///     void addIdentity(const llvm::Value&)
///     void addOwner(const llvm::Value&)   of the value that is being visited
///     void addUses(const llvm::Value&)    the order of its uses, which is in the bitcode, too
namespace compiler_gym::llvm_service::ir_hash {

/// Hashes words.
class WordHasher {
 public:
  uint64_t result() const { return llvm::hash_combine(total_, part_); }

  // A bijection of the state, so one differing word always shows. The factor is that of Fibonacci
  // hashing.
  void add(uint64_t word) { part_ = (llvm::rotl(part_, 29) ^ word) * kFactor; }

  // The following words are hashed separately at first. Otherwise each multiplication would wait
  // for the former one, and so for the memory of one instruction after the other.
  void beginPart() {
    total_ = (llvm::rotl(total_, 29) ^ part_) * kFactor;
    part_ = kFactor;
  }

  void add(const void* pointer) { add(reinterpret_cast<uintptr_t>(pointer)); }

  void add(llvm::MaybeAlign alignment) { add(alignment ? alignment->value() : uint64_t{0}); }

  void add(llvm::StringRef text) { add(static_cast<uint64_t>(llvm::hash_value(text))); }

  void add(const llvm::AttributeList& attributes) { add(attributes.getRawPointer()); }

 protected:
  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;

 private:
  uint64_t total_ = 0;
  uint64_t part_ = kFactor;
};

/// True if the uses of a value have an order.
inline bool isUsedTwice(const llvm::Value& value) {
  return !value.use_empty() && !value.hasOneUse();  // Inlined, unlike hasNUsesOrMore().
}

/// One bit for each kind of constant that refers to others by its operands.
constexpr uint64_t compoundKinds() {
  static_assert(llvm::Value::ConstantLastVal < 64);
  uint64_t kinds = 0;
  for (unsigned kind = llvm::Value::ConstantFirstVal; kind <= llvm::Value::ConstantLastVal;
       ++kind) {
    const bool isPlain =
        kind >= llvm::Value::ConstantDataFirstVal && kind <= llvm::Value::ConstantDataLastVal;
    const bool isGlobal = kind == llvm::Value::FunctionVal || kind == llvm::Value::GlobalAliasVal ||
                          kind == llvm::Value::GlobalIFuncVal ||
                          kind == llvm::Value::GlobalVariableVal;
    kinds |= uint64_t{!isPlain && !isGlobal} << kind;
  }
  return kinds;
}

/// True if a value is a constant that refers to others by its operands. It is a single test for all
/// kinds, because it is called for each operand.
inline bool isCompound(const llvm::Value& value) {
  const unsigned kind = value.getValueID();
  return kind < 64 && (compoundKinds() >> kind & 1) != 0;
}

/// True if a value is a constant with an order of uses of its own.
inline bool isConstantWithUses(const llvm::Value& value) {
  return llvm::isa<llvm::Constant>(value) &&
         (kPlainConstantsHaveUses<> || !llvm::isa<llvm::ConstantData>(value));
}

/// True if LLVM counts an instruction: it is not for debuggers or profilers. Only calls can be, and
/// the check itself costs a call.
inline bool isCounted(const llvm::Instruction& instruction) {
  return instruction.getOpcode() != llvm::Instruction::Call || !instruction.isDebugOrPseudoInst();
}

// The differences between memory accesses with equal operands.
template <typename Access, typename Hasher>
void addAccess(const Access& access, Hasher& hasher) {
  hasher.add(llvm::MaybeAlign(access.getAlign()));
  hasher.add(static_cast<uint64_t>(access.isVolatile()) << 8 | access.getSyncScopeID());
}

template <typename Hasher>
void addOrdering(llvm::AtomicOrdering ordering, Hasher& hasher) {
  hasher.add(static_cast<uint64_t>(ordering));
}

template <typename Hasher>
void addCall(const llvm::CallBase& call, Hasher& hasher) {
  hasher.add(call.getAttributes());
  hasher.add(call.getFunctionType());
  hasher.add(uint64_t{call.getCallingConv()});
  if (const auto* plain = llvm::dyn_cast<llvm::CallInst>(&call)) {
    hasher.add(uint64_t{plain->getTailCallKind()});
  }
  for (unsigned i = 0; i < call.getNumOperandBundles(); ++i) {
    const llvm::OperandBundleUse bundle = call.getOperandBundleAt(i);
    hasher.add(uint64_t{bundle.getTagID()} << 32 | bundle.Inputs.size());
  }
}

template <typename Hasher>
void addAllocation(const llvm::AllocaInst& allocation, Hasher& hasher) {
  hasher.add(allocation.getAllocatedType());
  hasher.add(llvm::MaybeAlign(allocation.getAlign()));
  hasher.add(uint64_t{allocation.isUsedWithInAlloca()} << 1 | uint64_t{allocation.isSwiftError()});
}

template <typename Update, typename Hasher>
void addAtomicUpdate(const Update& update, Hasher& hasher) {
  addAccess(update, hasher);
  addOrdering(update.getOrdering(), hasher);
  hasher.add(uint64_t{update.getOperation()});
  if constexpr (kHasElementwise<Update>) {
    hasher.add(uint64_t{update.isElementwise()});
  }
}

template <typename Hasher>
void addExchange(const llvm::AtomicCmpXchgInst& exchange, Hasher& hasher) {
  addAccess(exchange, hasher);
  addOrdering(exchange.getSuccessOrdering(), hasher);
  addOrdering(exchange.getFailureOrdering(), hasher);
  hasher.add(uint64_t{exchange.isWeak()});
}

template <typename Hasher>
void addIndices(llvm::ArrayRef<unsigned> indices, Hasher& hasher) {
  for (const unsigned index : indices) {
    hasher.add(uint64_t{index});
  }
}

// The state of an instruction that its opcode, type, operands and flags do not hold.
template <typename Hasher>
void addSpecialState(const llvm::Instruction& instruction, Hasher& hasher) {
  using llvm::cast;
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Load:
      addAccess(cast<llvm::LoadInst>(instruction), hasher);
      return addOrdering(cast<llvm::LoadInst>(instruction).getOrdering(), hasher);
    case llvm::Instruction::Store:
      addAccess(cast<llvm::StoreInst>(instruction), hasher);
      return addOrdering(cast<llvm::StoreInst>(instruction).getOrdering(), hasher);
    case llvm::Instruction::Call:
    case llvm::Instruction::Invoke:
    case llvm::Instruction::CallBr:
      return addCall(cast<llvm::CallBase>(instruction), hasher);
    case llvm::Instruction::ICmp:
    case llvm::Instruction::FCmp:
      return hasher.add(uint64_t{cast<llvm::CmpInst>(instruction).getPredicate()});
    case llvm::Instruction::PHI:
      for (const llvm::BasicBlock* block : cast<llvm::PHINode>(instruction).blocks()) {
        hasher.addIdentity(*block);
      }
      return;
    case llvm::Instruction::Switch:
      for (const auto& branch : cast<llvm::SwitchInst>(instruction).cases()) {
        hasher.add(branch.getCaseValue());
      }
      return;
    case llvm::Instruction::GetElementPtr:
      return hasher.add(cast<llvm::GetElementPtrInst>(instruction).getSourceElementType());
    case llvm::Instruction::Alloca:
      return addAllocation(cast<llvm::AllocaInst>(instruction), hasher);
    case llvm::Instruction::ShuffleVector:
      for (const int element : cast<llvm::ShuffleVectorInst>(instruction).getShuffleMask()) {
        hasher.add(static_cast<uint64_t>(element));
      }
      return;
    case llvm::Instruction::ExtractValue:
      return addIndices(cast<llvm::ExtractValueInst>(instruction).getIndices(), hasher);
    case llvm::Instruction::InsertValue:
      return addIndices(cast<llvm::InsertValueInst>(instruction).getIndices(), hasher);
    case llvm::Instruction::AtomicRMW:
      return addAtomicUpdate(cast<llvm::AtomicRMWInst>(instruction), hasher);
    case llvm::Instruction::AtomicCmpXchg:
      return addExchange(cast<llvm::AtomicCmpXchgInst>(instruction), hasher);
    case llvm::Instruction::Fence:
      addOrdering(cast<llvm::FenceInst>(instruction).getOrdering(), hasher);
      return hasher.add(uint64_t{cast<llvm::FenceInst>(instruction).getSyncScopeID()});
    case llvm::Instruction::LandingPad:
      return hasher.add(uint64_t{cast<llvm::LandingPadInst>(instruction).isCleanup()});
    default:
      return;
  }
}

// All hashers identify metadata by address, so a new node is different from an equal old one.
template <typename Holder, typename Hasher>
void addMetadata(const Holder& holder, Hasher& hasher) {
  if (!holder.hasMetadata()) {
    return;
  }
  llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 4> attachments;
  holder.getAllMetadata(attachments);
  for (const auto& [kind, node] : attachments) {
    hasher.add(uint64_t{kind});
    hasher.add(node);
    if (node->isDistinct()) {  // Its operands can change; those of other nodes cannot.
      for (const llvm::MDOperand& operand : node->operands()) {
        hasher.add(operand.get());
      }
    }
  }
}

// The contents of a compound constant. An address is not enough: an unused constant is freed, and
// another one may get its address.
template <typename Hasher>
void addConstant(const llvm::Constant& constant, Hasher& hasher) {
  hasher.add(uint64_t{constant.getValueID()} << 32 | constant.getNumOperands());
  hasher.add(constant.getType());
  if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&constant)) {
    hasher.add(uint64_t{expression->getOpcode()} << 32 | expression->getRawSubclassOptionalData());
  }
  if (const auto* address = llvm::dyn_cast<llvm::GEPOperator>(&constant)) {
    hasher.add(address->getSourceElementType());
    if (const std::optional<llvm::ConstantRange> range = address->getInRange()) {
      hasher.add(static_cast<uint64_t>(llvm::hash_value(range->getLower())));
      hasher.add(static_cast<uint64_t>(llvm::hash_value(range->getUpper())));
    }
  }
  for (const llvm::Use& use : constant.operands()) {
    hasher.addIdentity(*use.get());
  }
  // Up to LLVM 22, the operands are the function and the block.
  const auto* label = llvm::dyn_cast<llvm::BlockAddress>(&constant);
  if (label != nullptr && label->getNumOperands() == 0) {
    hasher.addIdentity(*label->getFunction());
    hasher.addIdentity(*label->getBasicBlock());
  }
}

template <typename Hasher>
void addOperands(const llvm::User& user, Hasher& hasher) {
  for (const llvm::Use& use : user.operands()) {
    hasher.addOperand(use);
  }
}

template <typename Hasher>
void addInstruction(const llvm::Instruction& instruction, Hasher& hasher) {
  hasher.beginPart();
  hasher.addOwner(instruction);
  hasher.add(uint64_t{instruction.getOpcode()} << 32 | ownFastMathFlags(instruction) << 16 |
             instruction.getRawSubclassOptionalData());
  hasher.add(instruction.getType());
  addOperands(instruction, hasher);
  hasher.addUses(instruction);
  addSpecialState(instruction, hasher);
  addMetadata(instruction, hasher);
}

template <typename Hasher>
void addGlobal(const llvm::GlobalValue& global, Hasher& hasher) {
  hasher.addOwner(global);
  hasher.add(global.getName());
  hasher.add(global.getValueType());
  hasher.add(uint64_t{global.getLinkage()} << 32 | uint64_t{global.getVisibility()} << 24 |
             uint64_t{global.getDLLStorageClass()} << 16 |
             static_cast<uint64_t>(global.getUnnamedAddr()) << 8 |
             static_cast<uint64_t>(global.getThreadLocalMode()) << 4 |
             uint64_t{global.isDSOLocal()} << 1 | uint64_t{global.hasPartition()});
  if (const auto* object = llvm::dyn_cast<llvm::GlobalObject>(&global)) {
    hasher.add(object->getSection());
    if (const llvm::Comdat* group = object->getComdat()) {
      hasher.add(group);
      hasher.add(uint64_t{group->getSelectionKind()});
    }
    addMetadata(*object, hasher);
  }
  addOperands(global, hasher);
}

template <typename Function, typename Hasher>
void addPreferredAlignment(const Function& function, Hasher& hasher) {
  if constexpr (kHasPreferredAlignment<Function>) {
    hasher.add(function.getPreferredAlignment());
  }
}

/// The properties of a function before its body.
template <typename Hasher>
void addHeader(const llvm::Function& function, Hasher& hasher) {
  addGlobal(function, hasher);
  hasher.add(function.getAlign());
  addPreferredAlignment(function, hasher);
  hasher.add(function.getAttributes());
  hasher.add(uint64_t{function.getCallingConv()});
  if (function.hasGC()) {
    hasher.add(llvm::StringRef(function.getGC()));
  }
}

/// The arguments and instructions of a function.
template <typename Hasher>
void addBody(const llvm::Function& function, Hasher& hasher) {
  for (const llvm::Argument& argument : function.args()) {
    hasher.addUses(argument);
  }
  for (const llvm::BasicBlock& block : function) {
    hasher.beginPart();
    hasher.addOwner(block);
    hasher.addUses(block);
    for (const llvm::Instruction& instruction : block) {
      addInstruction(instruction, hasher);
    }
  }
}

/// A function without the order of its own uses, which belongs to its callers.
template <typename Hasher>
void addFunction(const llvm::Function& function, Hasher& hasher) {
  addHeader(function, hasher);
  addBody(function, hasher);
}

template <typename Hasher>
void addVariable(const llvm::GlobalVariable& variable, Hasher& hasher) {
  addGlobal(variable, hasher);
  hasher.add(variable.getAlign());
  // The address of the set, which is unique in LLVM.
  hasher.add(
      uint64_t{llvm::DenseMapInfo<llvm::AttributeSet>::getHashValue(variable.getAttributes())});
  hasher.add(uint64_t{variable.isConstant()} << 1 | uint64_t{variable.isExternallyInitialized()});
  hasher.add(uint64_t{variable.getCodeModelRaw()});
  if (variable.hasSanitizerMetadata()) {
    const llvm::GlobalValue::SanitizerMetadata sanitizer = variable.getSanitizerMetadata();
    hasher.add(uint64_t{sanitizer.NoAddress} << 3 | uint64_t{sanitizer.NoHWAddress} << 2 |
               uint64_t{sanitizer.Memtag} << 1 | uint64_t{sanitizer.IsDynInit});
  }
}

/// A module without its functions and the order of uses.
template <typename Hasher>
void addFrame(const llvm::Module& module, Hasher& hasher) {
  forEachAssemblyText(module, [&](llvm::StringRef text) { hasher.add(text); });
  hasher.add(llvm::StringRef(targetName(module)));
  hasher.add(llvm::StringRef(module.getDataLayoutStr()));
  // Bitcode lists the kinds of metadata that its context knows, and some passes add a kind.
  llvm::SmallVector<llvm::StringRef, 64> names;
  module.getContext().getMDKindNames(names);
  hasher.add(uint64_t{names.size()});
  for (const llvm::NamedMDNode& named : module.named_metadata()) {
    hasher.add(named.getName());
    for (const llvm::MDNode* node : named.operands()) {
      hasher.add(node);
    }
  }
  for (const llvm::GlobalVariable& variable : module.globals()) {
    addVariable(variable, hasher);
  }
  for (const llvm::GlobalAlias& alias : module.aliases()) {
    addGlobal(alias, hasher);
  }
  for (const llvm::GlobalIFunc& ifunc : module.ifuncs()) {
    addGlobal(ifunc, hasher);
  }
}

}  // namespace compiler_gym::llvm_service::ir_hash
