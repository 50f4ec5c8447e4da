#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm_service/ContentHash.h"
#include "llvm_service/Fingerprint.h"
#include "llvm_service/PassListener.h"

namespace llvm {
class Constant;
class Function;
class Module;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// The changes of a module between two observations of it.
struct ModuleChange {
  /// True if the bitcode is different.
  bool changed = false;
  /// Names of functions, in the order of the module. Removed ones are in the order of the former
  /// module. A function has changed if its body, attributes or linkage have. Unnamed functions are
  /// called "<unnamed N>" and numbered separately.
  std::vector<std::string> functionsChanged;
  std::vector<std::string> functionsAdded;
  std::vector<std::string> functionsRemoved;
  uint64_t instructionsBefore = 0;
  uint64_t instructionsAfter = 0;
};

/// Detects the changes of a module by a pass. The reports of passes are not reliable: some change
/// alignments or attributes and claim to preserve everything, others claim a change and make none.
///
/// Fingerprints find the functions that may have changed, and content hashes decide about these.
/// The fingerprint of a function is best taken right after a pass has run on it, when it is in the
/// processor's caches. Functions without a run of a pass are skipped. So the tracker listens to the
/// passes: between follow() and update() it must be notified of each.
class ChangeTracker final : public PassListener {
 public:
  /// Fingerprints of the body of a function.
  struct Body : BodyFingerprint {
    /// The constants in the body. Only if `quick` is the same do they still exist.
    uint64_t constants = 0;
    /// True if no other function has been changed after `quick` was taken.
    bool isQuickCurrent = true;
    /// True if the fingerprints have yet to be taken.
    bool isPending = false;
  };

  /// A function at the last look.
  struct Function {
    const llvm::Function* function;
    std::string name;
    uint64_t header;
    uint64_t headerOutline;
    Body body;
    uint64_t content;
    /// Changes whenever the function may have changed.
    uint64_t version;
    std::vector<ConstantUse> constantUses;
    bool refersToBlocksOfOthers;
    /// The operands that have operands themselves.
    std::vector<const llvm::Constant*> constants;
  };

  /// Looks at the module for the first time.
  explicit ChangeTracker(const llvm::Module& module);

  /// Announces that the tracker will be notified of all passes until the next update().
  void follow();
  void passDone(bool claimsNoChange) override;
  void functionDone(const llvm::Function& function) override;
  void moduleDone() override;

  /// Looks at the same module again: at all of it, unless it was notified of all passes.
  const ModuleChange& update(const llvm::Module& module);

  /// Does the part of update() that is needed to know whether the module has changed.
  /// completeUpdate() must follow before the next change.
  ///
  /// @return true if the bitcode is different.
  bool beginUpdate(const llvm::Module& module);

  /// Does the rest of update(), if any is left.
  const ModuleChange& completeUpdate();

  /// The same, to be called when nobody waits. If instructions() and functions() were of no
  /// interest after the last change, the tracker leaves more of the next one to this: the function
  /// by which it knows of a change is the last one that it looks at.
  void catchUp();

  /// The changes at the last completed update; none before the first.
  const ModuleChange& lastChange() const { return change_; }

  /// The number of instructions. It is current after beginUpdate().
  uint64_t instructions();

  /// The functions at the last look, in the order of the module. Between beginUpdate() and
  /// completeUpdate() only their addresses and versions are current.
  llvm::ArrayRef<Function> functions();

 private:
  // Fingerprints of all functions, in the order of the module.
  using Headers = std::vector<uint64_t>;

  // The state of an update between its parts.
  struct BegunUpdate {
    const llvm::Module& module;
    bool wasFollowed;
    // Current after lookAtRest().
    bool isLookedAt = false;
    bool isMarked = false;
    Headers headers = {};
    uint64_t frame = 0;
  };

  bool hasProof(const llvm::Module& module);
  bool lookAtRest();
  void wantRest();
  void expectAllPending(const llvm::Module& module);
  void lookAtPending(const llvm::Module& module);
  bool areSameFunctions(const llvm::Module& module) const;
  bool markChanges(const Headers& headers);
  Function look(const llvm::Function& function, std::string name, uint64_t header, const Body& body,
                uint64_t version);
  void numberFunctions();
  bool areHeadersAsBefore(const Headers& headers) const;
  bool areBodiesAsBefore() const;
  bool areUsesAsBefore(const llvm::Module& module) const;
  Body lookAtBody(const llvm::Function& function, bool isLikelyChanged = false) const;
  uint64_t usesFingerprint(const llvm::Module& module) const;
  void keepQuick(bool areCurrent);
  void compare(const BegunUpdate& begun);
  uint64_t contentOfRest(const llvm::Module& module) const;
  uint64_t countInstructions() const;

  std::vector<Function> functions_;
  llvm::DenseMap<const llvm::Function*, size_t> places_;
  // Bodies as functionDone() has found them, by the places of the functions.
  std::vector<Body> bodies_;
  bool isFollowing_ = false;
  // Whether to leave what is not needed to know whether the module has changed.
  bool leavesRest_ = false;
  bool isRestWanted_ = false;
  // The place of a function whose body has certainly changed, if the rest is left then.
  std::optional<size_t> proof_;
  // Whether a pass of the present element of the pipeline has said that it made a change.
  bool hasClaimedChange_ = false;
  uint64_t lastVersion_ = 0;
  uint64_t frameFingerprint_;
  uint64_t usesFingerprint_;
  uint64_t firstUsesFingerprint_;
  uint64_t restContent_;
  ModuleChange change_;
  std::optional<BegunUpdate> begun_;
};

}  // namespace compiler_gym::llvm_service
