#include "llvm_service/ContentHash.h"

#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm_service/IrHash.h"

namespace compiler_gym::llvm_service {

namespace {

// The ways in which values are identified.
enum class Kind : uint64_t { kLocal = 1, kGlobal = 2, kConstant = 3, kOther = 4 };

// Identifies values by their place or their content.
class ContentHasher : public ir_hash::WordHasher {
 public:
  using WordHasher::add;

  // The part outside of functions: constants and globals.
  ContentHasher() = default;

  ContentHasher(const llvm::Function& function, uint64_t instructions) {
    numbers_.reserve(static_cast<unsigned>(instructions + function.size() + function.arg_size()));
    for (const llvm::Argument& argument : function.args()) {
      number(argument);
    }
    for (const llvm::BasicBlock& block : function) {
      number(block);
      for (const llvm::Instruction& instruction : block) {
        number(instruction);
      }
    }
  }

  // The walk visits values in the order of their numbers, so the owner adds no information.
  void addOwner(const llvm::Value& /*value*/) {}

  void addOperand(const llvm::Use& use) { addIdentity(*use.get()); }

  void addIdentity(const llvm::Value& value) {
    if (llvm::isa<llvm::ConstantData>(value)) {
      return add(Kind::kOther, reinterpret_cast<uintptr_t>(&value));
    }
    if (llvm::isa<llvm::GlobalValue>(value)) {
      return addGlobalIdentity(value);
    }
    if (ir_hash::isCompound(value)) {
      add(static_cast<uint64_t>(Kind::kConstant));
      return ir_hash::addConstant(llvm::cast<llvm::Constant>(value), *this);
    }
    const auto local = numbers_.find(&value);
    if (local != numbers_.end()) {
      return add(Kind::kLocal, local->second);
    }
    add(Kind::kOther, reinterpret_cast<uintptr_t>(&value));
  }

  void addUses(const llvm::Value& value) {
    if (!ir_hash::isUsedTwice(value)) {
      return;
    }
    for (const llvm::Use& use : value.uses()) {
      // The user may be the address constant of a block, which has no number.
      add(uint64_t{use.getOperandNo()} << 32 | numbers_.lookup(use.getUser()));
    }
  }

 private:
  void add(Kind kind, uint64_t identity) {
    add(static_cast<uint64_t>(kind));
    add(identity);
  }

  void number(const llvm::Value& value) {
    const auto next = static_cast<unsigned>(numbers_.size() + 1);
    numbers_.try_emplace(&value, next);
  }

  void addGlobalIdentity(const llvm::Value& global) {
    if (global.hasName()) {
      return add(Kind::kGlobal, static_cast<uint64_t>(llvm::hash_value(global.getName())));
    }
    add(Kind::kOther, reinterpret_cast<uintptr_t>(&global));
  }

  // Numbers from 1. Values of other functions have none.
  llvm::DenseMap<const llvm::Value*, unsigned> numbers_;
};

// Finds the uses of globals and other constants in the module. Numbers the uses of each value in
// the order of the module.
class UseOrders {
 public:
  void visit(const llvm::User& user) {
    for (const llvm::Use& use : user.operands()) {
      if (ir_hash::isConstantWithUses(*use.get())) {
        visit(use);
      }
    }
  }

  void visit(const llvm::Use& use) {
    const llvm::Value& value = *use.get();
    const bool isCompound = ir_hash::isCompound(value);
    if (!isCompound && !ir_hash::isUsedTwice(value)) {
      return;
    }
    const auto [entry, isNew] = counts_.try_emplace(&value, 0);
    if (isNew) {
      values_.push_back(&value);
    }
    numbers_.try_emplace(&use, entry->second++);
    if (isNew && isCompound) {
      visit(llvm::cast<llvm::User>(value));
    }
  }

  void addTo(ir_hash::WordHasher& hasher) const {
    for (const llvm::Value* value : values_) {
      if (counts_.lookup(value) < 2) {  // getNumUses() also counts dead uses.
        continue;
      }
      for (const llvm::Use& use : value->uses()) {
        const auto found = numbers_.find(&use);
        if (found != numbers_.end()) {
          hasher.add(uint64_t{found->second});
        }
      }
    }
  }

 private:
  llvm::DenseMap<const llvm::Use*, unsigned> numbers_;
  llvm::DenseMap<const llvm::Value*, unsigned> counts_;
  std::vector<const llvm::Value*> values_;
};

UseOrders findUseOrders(const llvm::Module& module,
                        llvm::ArrayRef<llvm::ArrayRef<ConstantUse>> uses) {
  UseOrders orders;
  for (const llvm::GlobalValue& global : module.global_values()) {
    orders.visit(global);
  }
  for (const llvm::ArrayRef<ConstantUse> ofFunction : uses) {
    for (const ConstantUse& use : ofFunction) {
      orders.visit(use.user->getOperandUse(use.operand));
    }
  }
  return orders;
}

}  // namespace

uint64_t contentHash(const llvm::Function& function, uint64_t instructions) {
  ContentHasher hasher(function, instructions);
  ir_hash::addFunction(function, hasher);
  return hasher.result();
}

std::vector<ConstantUse> constantUses(const llvm::Function& function) {
  std::vector<ConstantUse> uses;
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      for (const llvm::Use& use : instruction.operands()) {
        if (ir_hash::isConstantWithUses(*use.get())) {
          uses.push_back({&instruction, use.getOperandNo()});
        }
      }
    }
  }
  return uses;
}

uint64_t contentHashOfRest(const llvm::Module& module,
                           llvm::ArrayRef<llvm::ArrayRef<ConstantUse>> uses) {
  ContentHasher hasher;
  ir_hash::addFrame(module, hasher);
  for (const llvm::Function& function : module) {
    hasher.addIdentity(function);  // Their order.
  }
  findUseOrders(module, uses).addTo(hasher);
  return hasher.result();
}

}  // namespace compiler_gym::llvm_service
