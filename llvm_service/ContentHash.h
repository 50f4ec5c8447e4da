#pragma once

#include <cstdint>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class Function;
class Module;
class User;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// A hash of the bitcode of a function, including its name and attributes, without the order of the
/// function's own uses. It is the same for an equal new function.
///
/// Values are identified by position or name. Types, attributes, metadata and plain constants,
/// which belong to the context, are identified by address. So hashes are comparable only within a
/// context.
///
/// @param instructions the number of its instructions.
uint64_t contentHash(const llvm::Function& function, uint64_t instructions);

/// An operand that is a global or another constant of which the uses have an order.
struct ConstantUse {
  const llvm::User* user;
  unsigned operand;
};

/// The constant uses of the instructions of a function, in its order.
std::vector<ConstantUse> constantUses(const llvm::Function& function);

/// A hash of the rest of the module. The order of the uses of globals and of other constants
/// is included as far as it is in the bitcode: uses by unused constants do not count.
///
/// @param uses constantUses() of each function, in the order of the module.
uint64_t contentHashOfRest(const llvm::Module& module,
                           llvm::ArrayRef<llvm::ArrayRef<ConstantUse>> uses);

}  // namespace compiler_gym::llvm_service
