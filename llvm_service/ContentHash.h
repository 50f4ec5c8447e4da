#pragma once

#include <cstdint>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// A hash of what the bitcode of a function says, its name and attributes included, without the
/// order of the function's own uses: the same for a function that was made anew as it was.
///
/// Values are identified by their place in the function or by their name, and types, attributes,
/// metadata and plain constants, which a context keeps, by their address. So it is comparable only
/// between two moments of modules of one context.
///
/// @param instructions how many it has, which is known on the way.
uint64_t contentHash(const llvm::Function& function, uint64_t& instructions);

/// The same of the rest of the module. The order of the uses of globals and of other constants
/// is part of it as far as it is part of the bitcode: uses by constants that nothing refers to any
/// more do not count.
uint64_t contentHashOfRest(const llvm::Module& module);

}  // namespace compiler_gym::llvm_service
