#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
class Module;
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Leave a call as it is, inline it, or do what LLVM's own cost model says.
enum class InlineChoice { kKeep, kInline, kDefault };

/// One decision about calls, as a player makes it.
struct InlineDecision {
  enum class Target {
    /// The next question of the inliner that is not answered otherwise. Text: "inline".
    kQuestion,
    /// The call with this number in callSites(), and all copies that inlining makes of it. Text:
    /// "site-3-inline".
    kSite,
    /// All calls of one function. These are numbered in the order of their first calls in
    /// callSites(). Text: "callee-3-keep".
    kCallee,
  };

  Target target;
  /// Features of the call or the callee.
  size_t number;
  InlineChoice choice;

  /// The texts of the choices: "keep", "inline", "default".
  std::string text() const;

  /// Undoes text(); nothing if it is no decision.
  static std::optional<InlineDecision> parse(llvm::StringRef text);
};

/// A call about which LLVM's inliner has asked, and which can be inlined.
struct InlineQuestion {
  /// The number in callSites() of the call, or of that which it is a copy of; -1 for one that was
  /// a call through a pointer.
  int64_t site;
  std::string caller;
  std::string callee;
  /// The result of LLVM's cost model.
  bool byDefault;
  /// The decision.
  bool inlined;
  /// True if the player made the decision.
  bool decided;
};

/// Is told of each question before it is answered, and must not change what analyses know.
using InlineListener =
    std::function<void(llvm::CallBase&, llvm::FunctionAnalysisManager&, const InlineQuestion&)>;

/// The number of the callee of each call in callSites(), as InlineDecision counts them.
std::vector<size_t> calleeNumbers(llvm::ArrayRef<llvm::CallBase*> calls);

/// Optimises a module as `clang -Oz` does, but for some decisions of its inliner. Of several about
/// the same call the last counts. A call that cannot be inlined where LLVM meets it is left as it
/// is, whatever was decided; and so is one that would make a function larger than
/// kMaxInlinedInstructions.
///
/// @return all questions of the inliner, in its order.
std::vector<InlineQuestion> optimizeWithInlineDecisions(llvm::Module& module,
                                                        llvm::ArrayRef<InlineDecision> decisions,
                                                        const InlineListener& listener = nullptr);

constexpr unsigned kMaxInlinedInstructions = 50000;

/// Makes the same known as a pass, e.g. `inline-decisions<site-3-inline;callee-0-keep>`; without
/// decisions it is `inline-decisions<>`.
void registerInlineDecisions(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
