#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace compiler_gym::llvm_service {

/// The selection of LLVM's passes that are actions, and their spelling.
///
/// Read from a file such as policy.yaml, whose comments describe the format. The policy holds
/// judgements about passes, never the list of passes: that comes from LLVM.
class Policy {
 public:
  /// Reads a policy. One without rules makes every pass an action as LLVM lists it, also those that
  /// end the process.
  ///
  /// @return an error that names the line if the text is not a policy.
  static llvm::Expected<Policy> parse(llvm::StringRef yaml);

  /// The policy that this service was built with.
  static const Policy& builtin();

  /// The reason why the pass is not an action, or nothing if it is one. `pass` is the name that
  /// LLVM lists, without parameters unless they are part of the name, e.g. "print<loops>".
  std::optional<std::string> exclusionReason(llvm::StringRef pass) const;

  /// True if the module has to be verified after the pass.
  bool mayBreakModules(llvm::StringRef pass) const;

  /// The text of the pass in a pipeline, e.g. "instcombine<no-verify-fixpoint>" for "instcombine".
  std::string spelling(llvm::StringRef pass) const;

  /// True if a loop pass has to run in loop-mssa(...) instead of loop(...).
  bool needsMemorySSA(llvm::StringRef pass) const;

  /// The parameter texts worth having as further actions, e.g. {"memssa"} for "early-cse".
  std::vector<std::string> variants(llvm::StringRef pass) const;

  struct Rule {
    std::string reason;
    std::vector<std::string> passes;
  };
  struct Spelling {
    std::string pass;
    std::string as;
    std::string reason;
  };
  struct Variants {
    std::string pass;
    std::vector<std::string> parameters;
  };

  std::vector<Rule> exclusions;
  std::vector<Rule> verifications;
  std::vector<Spelling> spellings;
  std::vector<std::string> memorySSALoopPasses;
  std::vector<Variants> parameterised;
};

}  // namespace compiler_gym::llvm_service
