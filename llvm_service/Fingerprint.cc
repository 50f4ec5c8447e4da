#include "llvm_service/Fingerprint.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm_service/IrHash.h"
#include "llvm_service/LlvmCompatibility.h"

namespace compiler_gym::llvm_service {

namespace {

// Identifies values, types, attributes and metadata by their addresses.
class AddressHasher : public ir_hash::WordHasher {
 public:
  void addOwner(const llvm::Value& value) { add(&value); }

  void addOperand(const llvm::Use& use) {
    const llvm::Value& value = *use.get();
    addIdentity(value);
    // The uses of a value are a linked list. The links of all of them say the same as a walk along
    // the list, and are at hand.
    if (isLocal(value)) {
      add(use.getNext());
    }
  }

  void addIdentity(const llvm::Value& value) {
    add(&value);
    // Other values are visited on their own; for plain constants see below.
    if (ir_hash::isCompound(value)) {
      addUseList(value);
      ir_hash::addConstant(llvm::cast<llvm::Constant>(value), *this);
    }
  }

  // Of values of which all uses are visited; but a block is also used by the constant that is its
  // address.
  void addUses(const llvm::Value& value) {
    const auto* block = llvm::dyn_cast<llvm::BasicBlock>(&value);
    if (block != nullptr && block->hasAddressTaken()) {
      addUseList(value);
    }
  }

  void addUseList(const llvm::Value& value) {
    if (ir_hash::isUsedTwice(value)) {
      for (const llvm::Use& use : value.uses()) {
        add(&use);
      }
    }
  }

 private:
  static bool isLocal(const llvm::Value& value) {
    return llvm::isa<llvm::Instruction, llvm::BasicBlock, llvm::Argument>(value);
  }
};

// Adds the order of the uses of plain constants, of each once: whole programs use the same zero.
class PlainConstantUses {
 public:
  explicit PlainConstantUses(AddressHasher& hasher) : hasher_(hasher) {}

  void visit(const llvm::Module& module) {
    for (const llvm::GlobalValue& global : module.global_values()) {
      visit(global);
    }
    for (const llvm::Function& function : module) {
      for (const llvm::BasicBlock& block : function) {
        for (const llvm::Instruction& instruction : block) {
          visit(instruction);
        }
      }
    }
  }

 private:
  void visit(const llvm::User& user) {
    for (const llvm::Use& use : user.operands()) {
      const llvm::Value& value = *use.get();
      const bool isPlain = llvm::isa<llvm::ConstantData>(value);
      if ((!isPlain && !ir_hash::isCompound(value)) || !seen_.insert(&value).second) {
        continue;
      }
      if (isPlain) {
        hasher_.addUseList(value);
      } else {
        visit(llvm::cast<llvm::User>(value));
      }
    }
  }

  AddressHasher& hasher_;
  llvm::DenseSet<const llvm::Value*> seen_;
};

}  // namespace

uint64_t fingerprint(const llvm::Function& function) {
  AddressHasher hasher;
  ir_hash::addFunction(function, hasher);
  return hasher.result();
}

uint64_t fingerprintOfHeaders(const llvm::Module& module) {
  AddressHasher hasher;
  for (const llvm::Function& function : module) {
    ir_hash::addHeader(function, hasher);
  }
  return hasher.result();
}

uint64_t fingerprintOfRest(const llvm::Module& module) {
  AddressHasher hasher;
  ir_hash::addFrame(module, hasher);
  for (const llvm::GlobalValue& global : module.global_values()) {
    hasher.addUseList(global);
  }
  if constexpr (kPlainConstantsHaveUses<>) {
    PlainConstantUses(hasher).visit(module);
  }
  return hasher.result();
}

uint64_t fingerprint(const llvm::Module& module) {
  ir_hash::WordHasher hasher;
  hasher.add(fingerprintOfRest(module));
  for (const llvm::Function& function : module) {
    hasher.add(fingerprint(function));
  }
  return hasher.result();
}

}  // namespace compiler_gym::llvm_service
