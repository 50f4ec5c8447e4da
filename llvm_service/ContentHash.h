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

/// A hash of what the bitcode of a function says, its name and attributes included, without the
/// order of the function's own uses: the same for a function that was made anew as it was.
///
/// Values are identified by their place in the function or by their name, and types, attributes,
/// metadata and plain constants, which a context keeps, by their address. So it is comparable only
/// between two moments of modules of one context.
///
/// @param instructions how many it has, those for debuggers and profilers not counted, as LLVM
/// counts them.
uint64_t contentHash(const llvm::Function& function, uint64_t& instructions);

/// An operand that is a global or another constant of which the uses have an order.
struct ConstantUse {
  const llvm::User* user;
  unsigned operand;
};

/// Those of the instructions of a function, in its order.
std::vector<ConstantUse> constantUses(const llvm::Function& function);

/// A hash of the rest of the module. The order of the uses of globals and of other constants
/// is part of it as far as it is part of the bitcode: uses by constants that nothing refers to any
/// more do not count.
///
/// @param uses constantUses() of each function, in the order of the module.
uint64_t contentHashOfRest(const llvm::Module& module,
                           llvm::ArrayRef<llvm::ArrayRef<ConstantUse>> uses);

}  // namespace compiler_gym::llvm_service
