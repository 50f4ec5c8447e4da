#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// What happened to a module between two looks at it.
struct ModuleChange {
  /// Whether its bitcode is different.
  bool changed = false;
  /// Names of functions, in the order of the module, removed ones in that of the module before. A
  /// function has changed if its body, attributes or linkage have. One without name is called
  /// "<unnamed N>", by its number among these.
  std::vector<std::string> functionsChanged;
  std::vector<std::string> functionsAdded;
  std::vector<std::string> functionsRemoved;
  uint64_t instructionsBefore = 0;
  uint64_t instructionsAfter = 0;
};

/// Tells whether a pass changed a module, and what, which the pass itself does not say reliably:
/// some change alignments or attributes and claim to have preserved everything, others claim a
/// change and make none.
///
/// Fingerprints find the functions that may have changed, and content hashes decide about these.
class ChangeTracker {
 public:
  /// Looks at the module for the first time.
  explicit ChangeTracker(const llvm::Module& module);

  /// Looks at the same module again.
  const ModuleChange& update(const llvm::Module& module);

  /// What the last update found; before the first that nothing has happened.
  const ModuleChange& lastChange() const { return change_; }

 private:
  struct Function {
    std::string name;
    uint64_t fingerprint;
    uint64_t content;
    uint64_t instructions;
  };

  bool isUntouched(const llvm::Module& module, std::vector<uint64_t>& fingerprints) const;
  void compare(const llvm::Module& module, const std::vector<uint64_t>& fingerprints);

  std::vector<Function> functions_;
  uint64_t restFingerprint_;
  uint64_t restContent_;
  ModuleChange change_;
};

}  // namespace compiler_gym::llvm_service
