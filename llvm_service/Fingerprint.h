#pragma once

#include <cstdint>

namespace llvm {
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

/// That of one function, its name and attributes included, without the order of its own uses.
uint64_t fingerprint(const llvm::Function& function);

/// That of the list of functions, and of what is said of each before its body: name, attributes,
/// linkage and the like. Costs next to nothing.
uint64_t fingerprintOfHeaders(const llvm::Module& module);

/// That of the rest of the module: all of it but what belongs to one function.
uint64_t fingerprintOfRest(const llvm::Module& module);

}  // namespace compiler_gym::llvm_service
