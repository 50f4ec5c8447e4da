// Hashes of the parts of a module. Together they cover everything that its bitcode is made from,
// the order of use lists included: it is in the bitcode because passes depend on it.
//
// Equal hashes mean equal bitcode. Different hashes do not mean different bitcode: the hashes use
// the addresses of values, and a pass may replace a value by an equal one, or drop an unused
// constant. ContentHash.h decides then. Because of the addresses, the hashes are an order of
// magnitude cheaper than writing the module. They are comparable only between states of the same
// module in the same process.
#pragma once

#include <cstdint>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm_service/ContentHash.h"

namespace llvm {
class Constant;
class Function;
class Module;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// The result of a walk over the body of a function.
struct BodyFingerprint {
  /// The result of quickFingerprintOfBody().
  uint64_t quick;
  /// A hash of the body, with the order of the uses of local values.
  uint64_t exact;
  /// A hash of a part of what contentHash() sees: if it has changed, so has the content.
  uint64_t outline;
  /// A hash of the addresses of arguments, blocks and instructions.
  uint64_t places;
  /// A hash of those operands that contentHash() identifies by address or by place.
  uint64_t operands;
  /// The number of instructions, as LLVM counts them.
  uint64_t instructions;

  /// True if contentHash() has certainly changed since another walk over the same function.
  bool hasOtherContentThan(const BodyFingerprint& before) const {
    return outline != before.outline || (places == before.places && operands != before.operands);
  }
};

BodyFingerprint fingerprintOfBody(const llvm::Function& function);

/// A cheaper hash, which also changes when a pass on another function adds or removes a use of a
/// constant. If it and fingerprintOfConstants() of the constants in the body are unchanged, so is
/// fingerprintOfBody().
uint64_t quickFingerprintOfBody(const llvm::Function& function);

/// Returns the constants with operands that the instructions of a function refer to, each once.
///
/// @param uses constantUses() of the function.
std::vector<const llvm::Constant*> compoundConstants(llvm::ArrayRef<ConstantUse> uses);

/// A hash of such constants, and of the places of their uses and operands in use lists. An unused
/// constant is freed and a new one may get its address, so addresses do not identify them.
uint64_t fingerprintOfConstants(llvm::ArrayRef<const llvm::Constant*> constants);

/// A hash of the first elements of the use lists of globals.
uint64_t fingerprintOfFirstUses(const llvm::Module& module);

/// A hash of a function without its body: its name, attributes, linkage and so on.
uint64_t fingerprintOfHeader(const llvm::Function& function);

/// A hash of the part of these that contentHash() sees: if it has changed, so has the content.
uint64_t outlineOfHeader(const llvm::Function& function);

/// A hash of the module without its functions and without the order of uses.
uint64_t fingerprintOfFrame(const llvm::Module& module);

/// A hash of the order of the uses of globals and plain constants. As these are all over the
/// module, it costs more than the rest.
///
/// A use is added at the beginning of its list. So if only bodies and the constants that they refer
/// to may have changed, and their fingerprints above and fingerprintOfFirstUses() are unchanged,
/// the order is unchanged, too.
///
/// @param constants compoundConstants() of each function.
uint64_t fingerprintOfUses(const llvm::Module& module,
                           llvm::ArrayRef<llvm::ArrayRef<const llvm::Constant*>> constants);

}  // namespace compiler_gym::llvm_service
