#pragma once

#include <cstdint>

#include "llvm/IR/Module.h"

namespace compiler_gym::llvm_service {

/// A hash of everything that the bitcode of a module is made from, the order of use lists included:
/// it is in the bitcode because passes depend on it.
///
/// It tells whether a pass changed a module, which the pass itself does not say reliably: some
/// passes change alignments or attributes and claim to have preserved everything. It hashes the
/// addresses of values, types, attributes and metadata, all of which LLVM keeps unique, so it is
/// an order of magnitude cheaper than writing the module, and comparable only between two moments
/// of the same module in the same process.
uint64_t fingerprint(const llvm::Module& module);

}  // namespace compiler_gym::llvm_service
