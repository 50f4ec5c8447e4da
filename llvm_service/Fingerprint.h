#pragma once

#include <cstdint>
#include <vector>

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class Constant;
class Function;
class Module;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// A hash of everything that the bitcode of a module is made from, the order of use lists included:
/// it is in the bitcode because passes depend on it.
///
/// If it is the same, so is the bitcode. If it differs, the bitcode need not: the hash is of the
/// addresses of values, and a pass may make something anew as it was, or drop a constant that
/// nothing refers to. ContentHash.h decides then. Addresses make it an order of magnitude cheaper
/// than writing the module, and comparable only between two moments of the same module in the same
/// process.
uint64_t fingerprint(const llvm::Module& module);

/// A hash of the body of a function, with the order of the uses of local values.
uint64_t fingerprintOfBody(const llvm::Function& function);

/// A cheaper one, which is also different after the pass on another function has added or removed a
/// use of a constant. If it is the same, so is fingerprintOfBody(), provided that
/// fingerprintOfConstants() of the constants in the body is.
uint64_t quickFingerprintOfBody(const llvm::Function& function);

/// The constants with operands of their own that the instructions of a function refer to, each
/// once.
std::vector<const llvm::Constant*> compoundConstants(const llvm::Function& function);

/// A hash of such constants, and of where their uses and those by them are in their lists. One that
/// nothing uses is freed, and the next may get its address, so addresses do not identify them.
uint64_t fingerprintOfConstants(llvm::ArrayRef<const llvm::Constant*> constants);

/// A hash of where the lists of the uses of globals begin.
uint64_t fingerprintOfFirstUses(const llvm::Module& module);

/// A hash of a function without its body: its name, attributes, linkage and so on.
uint64_t fingerprintOfHeader(const llvm::Function& function);

/// A hash of the module without its functions and without the order of uses.
uint64_t fingerprintOfFrame(const llvm::Module& module);

/// A hash of the order of the uses of globals and plain constants. As these are all over the
/// module, it costs more than the rest.
///
/// A use is added at the beginning of its list. So if only bodies and the constants that they refer
/// to were changed, and their fingerprints above and fingerprintOfFirstUses() are as they were,
/// then the order is, too.
///
/// @param constants compoundConstants() of each function.
uint64_t fingerprintOfUses(const llvm::Module& module,
                           llvm::ArrayRef<llvm::ArrayRef<const llvm::Constant*>> constants);

}  // namespace compiler_gym::llvm_service
