#pragma once

// Differences between the supported versions of LLVM.

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
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

/// The opcodes of instructions that are written `br`. LLVM 23 has one for those with a condition
/// and one for the others, and up to 22 there is one for both.
template <typename Instruction = llvm::Instruction, typename = void>
inline constexpr std::array<unsigned, 1> kBranchOpcodes = {Instruction::Br};
template <typename Instruction>
inline constexpr std::array<unsigned, 2>
    kBranchOpcodes<Instruction, std::void_t<decltype(Instruction::CondBr)>> = {
        Instruction::UncondBr, Instruction::CondBr};

/// True for the opcodes of instructions that are written `br`.
constexpr bool isBranch(unsigned opcode) {
  for (const unsigned branch : kBranchOpcodes<>) {
    if (opcode == branch) {
      return true;
    }
  }
  return false;
}

/// How much a level cares for speed, from 0 to 3. LLVM 23 has levels for speed only.
template <typename Level>
unsigned speedOf(Level level) {
  if constexpr (std::is_enum_v<Level>) {
    return static_cast<unsigned>(level);
  } else {
    return level.getSpeedupLevel();
  }
}

/// Calls `use` with the texts that are a module's assembly. LLVM 23 has several pieces, each with
/// the target that it is for.
template <typename Module, typename Use>
void forEachAssemblyText(const Module& module, const Use& use) {
  if constexpr (std::is_constructible_v<llvm::StringRef, decltype(module.getModuleInlineAsm())>) {
    use(llvm::StringRef(module.getModuleInlineAsm()));
  } else {
    for (const auto& piece : module.getModuleInlineAsm()) {
      use(llvm::StringRef(piece.Asm));
      use(llvm::StringRef(piece.Props.TargetFeatures));
      use(llvm::StringRef(piece.Props.TargetCPU));
    }
  }
}

/// True if atomic updates of vectors can be atomic for each element only, as from LLVM 23 on.
template <typename Update, typename = void>
inline constexpr bool kHasElementwise = false;
template <typename Update>
inline constexpr bool
    kHasElementwise<Update, std::void_t<decltype(std::declval<const Update&>().isElementwise())>> =
        true;

/// True if instructions keep their flags of fast arithmetic apart, as from LLVM 23 on. Up to 22
/// these are part of getRawSubclassOptionalData().
template <typename Instruction, typename = void>
inline constexpr bool kHasOwnFastMathFlags = false;
template <typename Instruction>
inline constexpr bool kHasOwnFastMathFlags<
    Instruction,
    std::void_t<decltype(std::declval<const Instruction&>().getFastMathFlagsOrNone())>> = true;

/// The seven flags of fast arithmetic where an instruction keeps them apart, 0 elsewhere.
template <typename Instruction>
uint64_t ownFastMathFlags(const Instruction& instruction) {
  if constexpr (kHasOwnFastMathFlags<Instruction>) {
    const auto flags = instruction.getFastMathFlagsOrNone();
    return uint64_t{flags.allowReassoc()} | uint64_t{flags.noNaNs()} << 1 |
           uint64_t{flags.noInfs()} << 2 | uint64_t{flags.noSignedZeros()} << 3 |
           uint64_t{flags.allowReciprocal()} << 4 | uint64_t{flags.allowContract()} << 5 |
           uint64_t{flags.approxFunc()} << 6;
  } else {
    return 0;
  }
}

/// True if functions have an alignment that is preferred to the required one, as from LLVM 23 on.
template <typename Function, typename = void>
inline constexpr bool kHasPreferredAlignment = false;
template <typename Function>
inline constexpr bool kHasPreferredAlignment<
    Function, std::void_t<decltype(std::declval<const Function&>().getPreferredAlignment())>> =
    true;

/// The triple of a module as text.
inline std::string targetName(const llvm::Module& module) {
  return llvm::Triple(module.getTargetTriple()).str();
}

}  // namespace compiler_gym::llvm_service
