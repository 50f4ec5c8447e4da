#pragma once

// Differences between the supported versions of LLVM.

#include <string>
#include <type_traits>
#include <utility>

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

namespace compiler_gym::llvm_service {

/// LLVM 21 made triples of the texts that name targets.
#if LLVM_VERSION_MAJOR >= 21
inline const llvm::Triple& asTarget(const llvm::Triple& triple) { return triple; }
#else
inline std::string asTarget(const llvm::Triple& triple) { return triple.str(); }
#endif

/// True if plain constants (llvm::ConstantData) have lists of their uses, so that the order of
/// these is in the bitcode. Where they have none, LLVM's values say so themselves: hasUseList().
template <typename Value = llvm::Value, typename = void>
inline constexpr bool kPlainConstantsHaveUses = true;
template <typename Value>
inline constexpr bool kPlainConstantsHaveUses<
    Value, std::void_t<decltype(std::declval<const Value&>().hasUseList())>> = false;

/// The triple of a module as text.
inline std::string targetName(const llvm::Module& module) {
  return llvm::Triple(module.getTargetTriple()).str();
}

}  // namespace compiler_gym::llvm_service
