#include "llvm_service/Fingerprint.h"

#include "llvm_service/IrHash.h"

namespace compiler_gym::llvm_service {

namespace {

// Identifies values, types, attributes and metadata by their addresses.
class AddressHasher : public ir_hash::WordHasher {
 public:
  void addOwner(const llvm::Value& value) { add(&value); }

  void addIdentity(const llvm::Value& value) {
    add(&value);
    // Other values are visited on their own, and constant data has no uses.
    if (llvm::isa<llvm::ConstantExpr, llvm::ConstantAggregate>(value)) {
      addUses(value);
      ir_hash::addOperands(llvm::cast<llvm::User>(value), *this);
    }
  }

  void addUses(const llvm::Value& value) {
    if (ir_hash::isUsedTwice(value)) {
      for (const llvm::Use& use : value.uses()) {
        add(&use);
      }
    }
  }
};

}  // namespace

uint64_t fingerprint(const llvm::Function& function) {
  AddressHasher hasher;
  ir_hash::addFunction(function, hasher);
  return hasher.result();
}

uint64_t fingerprintOfRest(const llvm::Module& module) {
  AddressHasher hasher;
  ir_hash::addFrame(module, hasher);
  for (const llvm::GlobalValue& global : module.global_values()) {
    hasher.addUses(global);
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
