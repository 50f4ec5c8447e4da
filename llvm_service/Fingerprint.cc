#include "llvm_service/Fingerprint.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm_service/IrHash.h"
#include "llvm_service/LlvmCompatibility.h"

namespace compiler_gym::llvm_service {

namespace {

uint64_t wordOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Multiplies to twice the width, so that no bit is lost. The constants are those of wyhash.
uint64_t mix(uint64_t first, uint64_t second) {
  __extension__ using WideWord = unsigned __int128;
  const WideWord product =
      static_cast<WideWord>(first ^ 0xA0761D6478BD642Fu) * (second ^ 0xE7037ED1A0B428DBu);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Identifies values, types, attributes and metadata by their addresses.
class AddressHasher : public ir_hash::WordHasher {
 public:
  void addOwner(const llvm::Value& value) { add(&value); }

  void addOperand(const llvm::Use& use) { addIdentity(*use.get()); }

  void addIdentity(const llvm::Value& value) {
    add(&value);
    // Other values are visited separately. A compound constant is freed when it has no use, and a
    // new one may get its address.
    if (ir_hash::isCompound(value)) {
      ir_hash::addConstant(llvm::cast<llvm::Constant>(value), *this);
    }
  }

  // Adds the places of the constant's uses and operands in their use lists.
  void addLinks(const llvm::Constant& constant) {
    add(constant.use_empty() ? nullptr : &*constant.use_begin());
    for (const llvm::Use& use : constant.operands()) {
      add(use.getNext());
      if (ir_hash::isCompound(*use.get())) {
        addLinks(llvm::cast<llvm::Constant>(*use.get()));
      }
    }
  }

  void addUseList(const llvm::Value& value) {
    if (ir_hash::isUsedTwice(value)) {
      for (const llvm::Use& use : value.uses()) {
        add(&use);
      }
    }
  }
};

// Leaves out what is identified by addresses.
class OutlineHasher : public ir_hash::WordHasher {
 public:
  void addOwner(const llvm::Value& /*value*/) {}
  void addOperand(const llvm::Use& /*use*/) {}
};

// Gives access to the bits that hold alignments, orderings, predicates and more of an instruction.
struct SubclassData : llvm::Value {
  static uint64_t of(const llvm::Value& value) {
    return (value.*&SubclassData::getSubclassDataFromValue)();
  }
};

// Hashes the instructions of a function. Nearly all of the time to detect that a pass has changed
// nothing is spent here.
//
// @tparam kIsQuick Compute only the quick hash. It takes the addresses and links of operands, but
//     does not visit them.
template <bool kIsQuick>
class BodyHasher {
 public:
  void add(const llvm::Function& function) {
    if (!kIsQuick && !function.isDeclaration()) {
      for (const llvm::Argument& argument : function.args()) {
        addTo(places_, wordOf(&argument));
      }
    }
    for (const llvm::BasicBlock& block : function) {
      addPart(wordOf(&block), wordOf(&block));
      addTo(outline_, 1);  // No header of an instruction.
      addTo(places_, wordOf(&block));
      // The uses are branches and the constant of the block's address.
      if (block.hasAddressTaken()) {
        rest_.addUseList(block);
      }
      for (const llvm::Instruction& instruction : block) {
        add(instruction);
      }
    }
    // A separate loop lets the processor overlap several lookups in LLVM's table.
    for (const llvm::Instruction* instruction : withMetadata_) {
      rest_.beginPart();
      rest_.add(instruction);
      ir_hash::addMetadata(*instruction, rest_);
    }
  }

  uint64_t quick() const { return mix(quick_, rest_.result()); }

  BodyFingerprint result() const {
    static_assert(!kIsQuick);
    return {quick(),   mix(mix(exact_, rest_.result()), constants_.result()),
            outline_,  places_,
            operands_, instructions_};
  }

 private:
  void add(const llvm::Instruction& instruction) {
    const uint64_t header = uint64_t{instruction.getOpcode()} << 56 |
                            uint64_t{instruction.getRawSubclassOptionalData()} << 48 |
                            SubclassData::of(instruction) << 32 |
                            ownFastMathFlags(instruction) << 24 | instruction.getNumOperands();
    uint64_t quick = mix(wordOf(&instruction), header);
    quick = mix(quick ^ wordOf(instruction.getType()), detailOf(instruction));
    uint64_t exact = quick;
    addTo(outline_, contentOf(instruction, header) ^ wordOf(instruction.getType()));
    addTo(places_, wordOf(&instruction));
    for (const llvm::Use& use : instruction.operands()) {
      const uint64_t value = wordOf(use.get());
      // The uses of a value are a linked list. Reading the link of each use is equivalent to a walk
      // along the list, and is local. The uses of a constant, however, are all over the module.
      const uint64_t link = wordOf(use.getNext());
      quick = mix(quick ^ value, link);
      if constexpr (!kIsQuick) {
        exact = mix(exact ^ value, addOperand(*use.get()) ? 0 : link);
      }
    }
    addPart(quick, exact);
    if (instruction.hasMetadata()) {
      withMetadata_.push_back(&instruction);
    }
    if constexpr (!kIsQuick) {
      instructions_ += ir_hash::isCounted(instruction);
    }
  }

  // Returns the part of a header that is in the bitcode for certain.
  static uint64_t contentOf(const llvm::Instruction& instruction, uint64_t header) {
    constexpr uint64_t kSubclassData = uint64_t{0xFFFF} << 32;
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Load:
      case llvm::Instruction::Store:
      case llvm::Instruction::ICmp:
      case llvm::Instruction::FCmp:
      case llvm::Instruction::Call:
        // With alignment, ordering, volatility, predicate, calling convention or kind of tail call.
        return header;
      default:
        return header & ~kSubclassData;
    }
  }

  // @return true if the value is a constant.
  bool addOperand(const llvm::Value& value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(&value);
    if (constant == nullptr) {
      addTo(operands_, wordOf(&value));
      return false;
    }
    if (ir_hash::isCompound(*constant)) {
      ir_hash::addConstant(*constant, constants_);
    } else if (llvm::isa<llvm::ConstantData>(constant)) {
      addTo(outline_, wordOf(constant));
    }
    return true;
  }

  // Returns the state that is neither in the operands nor in the bits that all instructions have.
  uint64_t detailOf(const llvm::Instruction& instruction) {
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Load:
        return detailOf(llvm::cast<llvm::LoadInst>(instruction));
      case llvm::Instruction::Store:
        return detailOf(llvm::cast<llvm::StoreInst>(instruction));
      case llvm::Instruction::GetElementPtr:
        return wordOf(llvm::cast<llvm::GetElementPtrInst>(instruction).getSourceElementType());
      case llvm::Instruction::Alloca:
        return wordOf(llvm::cast<llvm::AllocaInst>(instruction).getAllocatedType());
      case llvm::Instruction::ICmp:
        return 0;  // Its predicate is among the bits.
      default:
        ir_hash::addSpecialState(instruction, rest_);
        return 0;
    }
  }

  template <typename Access>
  uint64_t detailOf(const Access& access) {
    return access.isAtomic() ? uint64_t{access.getSyncScopeID()} + 1 : 0;
  }

  void addPart(uint64_t quick, uint64_t exact) {
    quick_ = (llvm::rotl(quick_, 29) ^ quick) * kFactor;
    addTo(exact_, exact);
  }

  // Does nothing for the quick hash.
  static void addTo(uint64_t& hash, uint64_t word) {
    if constexpr (!kIsQuick) {
      hash = (llvm::rotl(hash, 29) ^ word) * kFactor;
    }
  }

  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;

  uint64_t quick_ = 0;
  uint64_t exact_ = 0;
  uint64_t outline_ = 0;
  uint64_t places_ = 0;
  uint64_t operands_ = 0;
  uint64_t instructions_ = 0;
  // The rest of both hashes, and that of the exact one.
  AddressHasher rest_;
  AddressHasher constants_;
  llvm::SmallVector<const llvm::Instruction*, 128> withMetadata_;
};

// Adds the order of the uses of constants. Each constant counts once, since a whole program may use
// the same zero.
class ConstantUses {
 public:
  explicit ConstantUses(AddressHasher& hasher) : hasher_(hasher) {}

  void visitOperands(const llvm::User& user) {
    for (const llvm::Use& use : user.operands()) {
      if (const auto* constant = llvm::dyn_cast<llvm::Constant>(use.get())) {
        visit(*constant);
      }
    }
  }

  void visit(const llvm::Constant& constant) {
    // The uses of globals are visited separately.
    if (!ir_hash::isConstantWithUses(constant) || llvm::isa<llvm::GlobalValue>(constant) ||
        !seen_.insert(&constant).second) {
      return;
    }
    hasher_.addUseList(constant);
    visitOperands(constant);
  }

 private:
  AddressHasher& hasher_;
  llvm::DenseSet<const llvm::Constant*> seen_;
};

}  // namespace

BodyFingerprint fingerprintOfBody(const llvm::Function& function) {
  BodyHasher</*kIsQuick=*/false> hasher;
  hasher.add(function);
  return hasher.result();
}

uint64_t quickFingerprintOfBody(const llvm::Function& function) {
  BodyHasher</*kIsQuick=*/true> hasher;
  hasher.add(function);
  return hasher.quick();
}

std::vector<const llvm::Constant*> compoundConstants(llvm::ArrayRef<ConstantUse> uses) {
  llvm::SmallSetVector<const llvm::Constant*, 8> constants;
  for (const ConstantUse& use : uses) {
    const llvm::Value& value = *use.user->getOperand(use.operand);
    if (ir_hash::isCompound(value)) {
      constants.insert(llvm::cast<llvm::Constant>(&value));
    }
  }
  return {constants.begin(), constants.end()};
}

uint64_t fingerprintOfConstants(llvm::ArrayRef<const llvm::Constant*> constants) {
  AddressHasher hasher;
  for (const llvm::Constant* constant : constants) {
    hasher.beginPart();
    hasher.addIdentity(*constant);
    hasher.addLinks(*constant);
  }
  return hasher.result();
}

uint64_t fingerprintOfFirstUses(const llvm::Module& module) {
  AddressHasher hasher;
  for (const llvm::GlobalValue& global : module.global_values()) {
    hasher.add(global.use_empty() ? nullptr : &*global.use_begin());
  }
  return hasher.result();
}

uint64_t fingerprintOfHeader(const llvm::Function& function) {
  AddressHasher hasher;
  ir_hash::addHeader(function, hasher);
  return hasher.result();
}

uint64_t outlineOfHeader(const llvm::Function& function) {
  OutlineHasher hasher;
  ir_hash::addHeader(function, hasher);
  return hasher.result();
}

uint64_t fingerprintOfFrame(const llvm::Module& module) {
  AddressHasher hasher;
  ir_hash::addFrame(module, hasher);
  return hasher.result();
}

uint64_t fingerprintOfUses(const llvm::Module& module,
                           llvm::ArrayRef<llvm::ArrayRef<const llvm::Constant*>> constants) {
  AddressHasher hasher;
  ConstantUses uses(hasher);
  for (const llvm::GlobalValue& global : module.global_values()) {
    hasher.addUseList(global);
    uses.visitOperands(global);
  }
  for (const llvm::ArrayRef<const llvm::Constant*> ofFunction : constants) {
    for (const llvm::Constant* constant : ofFunction) {
      uses.visit(*constant);
    }
  }
  if constexpr (kPlainConstantsHaveUses<>) {
    for (const llvm::Function& function : module) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        uses.visitOperands(instruction);
      }
    }
  }
  return hasher.result();
}

}  // namespace compiler_gym::llvm_service
