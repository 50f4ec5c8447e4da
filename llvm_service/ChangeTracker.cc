#include "llvm_service/ChangeTracker.h"

#include <algorithm>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "llvm_service/ContentHash.h"
#include "llvm_service/Fingerprint.h"

namespace compiler_gym::llvm_service {

namespace {

// Returns a unique name for each function of a module.
class Namer {
 public:
  std::string operator()(const llvm::Function& function) {
    return function.hasName() ? function.getName().str()
                              : "<unnamed " + std::to_string(unnamed_++) + ">";
  }

 private:
  size_t unnamed_ = 0;
};

// Finds functions by their names. Most have kept their place, so the table is rarely needed.
template <typename Functions>
class Finder {
 public:
  explicit Finder(const Functions& functions) : functions_(functions) {}

  // @return the place of the function of that name, or the number of functions if there is none.
  size_t operator()(const std::string& name) {
    if (next_ < functions_.size() && functions_[next_].name == name) {
      return next_++;
    }
    if (places_.empty()) {
      for (size_t i = 0; i < functions_.size(); ++i) {
        places_.try_emplace(functions_[i].name, i);
      }
    }
    const auto place = places_.find(name);
    if (place == places_.end()) {
      return functions_.size();
    }
    next_ = place->second + 1;
    return place->second;
  }

 private:
  const Functions& functions_;
  size_t next_ = 0;
  llvm::StringMap<size_t> places_;
};

bool refersToBlockOfOther(const llvm::Constant& constant, const llvm::Function& function) {
  if (const auto* address = llvm::dyn_cast<llvm::BlockAddress>(&constant)) {
    return address->getFunction() != &function;
  }
  return !llvm::isa<llvm::GlobalValue>(constant) &&
         llvm::any_of(constant.operands(), [&function](const llvm::Use& use) {
           const auto* operand = llvm::dyn_cast<llvm::Constant>(use.get());
           return operand != nullptr && refersToBlockOfOther(*operand, function);
         });
}

// True if a pass on another function can change this one: deleting a block replaces its address.
bool refersToBlocksOfOthers(const llvm::Function& function, llvm::ArrayRef<ConstantUse> uses) {
  return llvm::any_of(uses, [&function](const ConstantUse& use) {
    return refersToBlockOfOther(*llvm::cast<llvm::Constant>(use.user->getOperand(use.operand)),
                                function);
  });
}

std::vector<uint64_t> fingerprintsOfHeaders(const llvm::Module& module) {
  std::vector<uint64_t> headers;
  headers.reserve(module.size());
  for (const llvm::Function& function : module) {
    headers.push_back(fingerprintOfHeader(function));
  }
  return headers;
}

}  // namespace

ChangeTracker::Function ChangeTracker::look(const llvm::Function& function, std::string name,
                                            uint64_t header, const Body& body, uint64_t version) {
  Function entry{&function, std::move(name), header, 0, body, 0, version, {}, false, {}};
  entry.headerOutline = outlineOfHeader(function);
  entry.content = contentHash(function, body.instructions);
  entry.constantUses = constantUses(function);
  entry.refersToBlocksOfOthers = refersToBlocksOfOthers(function, entry.constantUses);
  entry.constants = compoundConstants(entry.constantUses);
  return entry;
}

ChangeTracker::ChangeTracker(const llvm::Module& module)
    : frameFingerprint_(fingerprintOfFrame(module)),
      firstUsesFingerprint_(fingerprintOfFirstUses(module)) {
  Namer name;
  for (const llvm::Function& function : module) {
    functions_.push_back(look(function, name(function), fingerprintOfHeader(function),
                              lookAtBody(function), ++lastVersion_));
  }
  numberFunctions();
  for (Function& function : functions_) {
    function.body.constants = fingerprintOfConstants(function.constants);
  }
  usesFingerprint_ = usesFingerprint(module);
  restContent_ = contentOfRest(module);
  change_.instructionsBefore = change_.instructionsAfter = countInstructions();
}

void ChangeTracker::numberFunctions() {
  places_.clear();
  for (size_t i = 0; i < functions_.size(); ++i) {
    places_.try_emplace(functions_[i].function, i);
  }
}

uint64_t ChangeTracker::countInstructions() const {
  uint64_t instructions = 0;
  for (const Function& function : functions_) {
    instructions += function.body.instructions;
  }
  return instructions;
}

uint64_t ChangeTracker::contentOfRest(const llvm::Module& module) const {
  std::vector<llvm::ArrayRef<ConstantUse>> uses;
  for (const Function& function : functions_) {
    uses.emplace_back(function.constantUses);
  }
  return contentHashOfRest(module, uses);
}

void ChangeTracker::follow() {
  hasClaimedChange_ = false;
  proof_.reset();
  isFollowing_ =
      llvm::none_of(functions_, [](const Function& each) { return each.refersToBlocksOfOthers; });
  bodies_.clear();
  for (const Function& function : functions_) {
    bodies_.push_back(function.body);
  }
}

void ChangeTracker::passDone(bool claimsNoChange) { hasClaimedChange_ |= !claimsNoChange; }

void ChangeTracker::functionDone(const llvm::Function& function) {
  const bool isLikelyChanged = std::exchange(hasClaimedChange_, false);
  const auto place = places_.find(&function);
  if (!isFollowing_ || place == places_.end()) {
    isFollowing_ = false;
    return;
  }
  const size_t index = place->second;
  Body& body = bodies_[index];
  if (proof_ && *proof_ != index) {
    body.isPending = true;
    return;
  }
  body = lookAtBody(function, isLikelyChanged);
  proof_.reset();
  if (leavesRest_ && body.hasOtherContentThan(functions_[index].body)) {
    proof_ = index;
  }
}

void ChangeTracker::moduleDone() { isFollowing_ = hasClaimedChange_ = false; }

bool ChangeTracker::areHeadersAsBefore(const Headers& headers) const {
  return std::equal(headers.begin(), headers.end(), functions_.begin(), functions_.end(),
                    [](uint64_t now, const Function& then) { return now == then.header; });
}

bool ChangeTracker::areBodiesAsBefore() const {
  return std::equal(
      bodies_.begin(), bodies_.end(), functions_.begin(), functions_.end(),
      [](const Body& now, const Function& then) { return now.exact == then.body.exact; });
}

bool ChangeTracker::areSameFunctions(const llvm::Module& module) const {
  return std::equal(
      module.begin(), module.end(), functions_.begin(), functions_.end(),
      [](const llvm::Function& now, const Function& then) { return &now == then.function; });
}

// Assumes that the module has the same functions as before.
//
// @return false, without any effect, if it takes hashes of contents to know whether one has
// changed.
bool ChangeTracker::markChanges(const Headers& headers) {
  bool isCertain = false;
  std::vector<Function*> changed;
  for (size_t i = 0; i < functions_.size(); ++i) {
    Function& before = functions_[i];
    const bool isOtherHeader = headers[i] != before.header;
    if (isOtherHeader || bodies_[i].exact != before.body.exact) {
      changed.push_back(&before);
      isCertain |= bodies_[i].hasOtherContentThan(before.body) ||
                   (isOtherHeader && outlineOfHeader(*before.function) != before.headerOutline);
    }
  }
  if (isCertain) {
    for (Function* function : changed) {
      function->version = ++lastVersion_;
    }
  }
  return isCertain;
}

// Assumes that only the bodies may have changed.
bool ChangeTracker::areUsesAsBefore(const llvm::Module& module) const {
  const bool isSameQuick = std::equal(bodies_.begin(), bodies_.end(), functions_.begin(),
                                      functions_.end(), [](const Body& now, const Function& then) {
                                        return now.quick == then.body.quick &&
                                               now.isQuickCurrent == then.body.isQuickCurrent;
                                      });
  return isSameQuick && fingerprintOfFirstUses(module) == firstUsesFingerprint_;
}

// @param isLikelyChanged saves the quick look, which is in vain if the body has changed.
ChangeTracker::Body ChangeTracker::lookAtBody(const llvm::Function& function,
                                              bool isLikelyChanged) const {
  const auto place = places_.find(&function);
  if (!isLikelyChanged && place != places_.end()) {
    const Function& before = functions_[place->second];
    if (quickFingerprintOfBody(function) == before.body.quick &&
        fingerprintOfConstants(before.constants) == before.body.constants) {
      Body body = before.body;
      body.isQuickCurrent = true;
      return body;
    }
  }
  return {fingerprintOfBody(function)};
}

void ChangeTracker::expectAllPending(const llvm::Module& module) {
  Body pending{};
  pending.isPending = true;
  bodies_.assign(module.size(), pending);
}

void ChangeTracker::lookAtPending(const llvm::Module& module) {
  for (auto [function, body] : llvm::zip_equal(module, bodies_)) {
    if (body.isPending) {
      body = lookAtBody(function);
    }
  }
}

uint64_t ChangeTracker::usesFingerprint(const llvm::Module& module) const {
  std::vector<llvm::ArrayRef<const llvm::Constant*>> constants;
  for (const Function& function : functions_) {
    constants.emplace_back(function.constants);
  }
  return fingerprintOfUses(module, constants);
}

void ChangeTracker::keepQuick(bool areCurrent) {
  for (size_t i = 0; i < functions_.size(); ++i) {
    functions_[i].body = bodies_[i];
    functions_[i].body.constants = fingerprintOfConstants(functions_[i].constants);
    functions_[i].body.isQuickCurrent &= areCurrent;
  }
}

void ChangeTracker::compare(const BegunUpdate& begun) {
  std::vector<Function> after;
  after.reserve(begun.headers.size());
  std::vector<bool> found(functions_.size());
  Namer nameOf;
  Finder find(functions_);
  for (const llvm::Function& function : begun.module) {
    const uint64_t header = begun.headers[after.size()];
    const Body& body = bodies_[after.size()];
    std::string name = nameOf(function);
    const size_t place = find(name);
    if (place == functions_.size()) {
      change_.functionsAdded.push_back(name);
      after.push_back(look(function, std::move(name), header, body, ++lastVersion_));
      continue;
    }
    found[place] = true;
    Function& before = functions_[place];
    if (before.function == &function && before.header == header &&
        before.body.exact == body.exact) {
      after.push_back(std::move(before));
      before.name = after.back().name;  // By which functions are found.
      continue;
    }
    const uint64_t version = begun.isMarked ? before.version : ++lastVersion_;
    after.push_back(look(function, std::move(name), header, body, version));
    if (before.content != after.back().content) {
      change_.functionsChanged.push_back(after.back().name);
    }
  }
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (!found[i]) {
      change_.functionsRemoved.push_back(functions_[i].name);
    }
  }
  functions_ = std::move(after);
  numberFunctions();
}

const ModuleChange& ChangeTracker::update(const llvm::Module& module) {
  beginUpdate(module);
  return completeUpdate();
}

bool ChangeTracker::beginUpdate(const llvm::Module& module) {
  const uint64_t instructions = change_.instructionsAfter;
  change_ = ModuleChange();
  change_.instructionsBefore = change_.instructionsAfter = instructions;
  const bool wasFollowed = std::exchange(isFollowing_, false);
  begun_.emplace(BegunUpdate{module, wasFollowed});
  if (!wasFollowed) {
    expectAllPending(module);
  }
  change_.changed = leavesRest_ && hasProof(module);
  return change_.changed || lookAtRest();
}

// Leaves bodies pending as soon as one has certainly changed.
bool ChangeTracker::hasProof(const llvm::Module& module) {
  if (!areSameFunctions(module)) {
    return module.size() != functions_.size();
  }
  const auto hasChanged = [this](size_t index) {
    const Function& before = functions_[index];
    bodies_[index] = lookAtBody(*before.function, /*isLikelyChanged=*/proof_ == index);
    return bodies_[index].hasOtherContentThan(before.body);
  };
  if (begun_->wasFollowed) {
    // Looks again, because passes on other functions have run since.
    return proof_ && hasChanged(*proof_);
  }
  return llvm::any_of(llvm::seq<size_t>(0, functions_.size()), hasChanged);
}

// Does what is left of beginUpdate().
//
// @return true if the bitcode is different.
bool ChangeTracker::lookAtRest() {
  BegunUpdate& begun = *begun_;
  begun.isLookedAt = true;
  begun.headers = fingerprintsOfHeaders(begun.module);
  begun.frame = fingerprintOfFrame(begun.module);
  const bool areSameHeaders = areHeadersAsBefore(begun.headers);
  if (begun.wasFollowed && !areSameHeaders) {
    begun.wasFollowed = false;
    expectAllPending(begun.module);
  }
  lookAtPending(begun.module);
  const bool isAsBefore = areSameHeaders && begun.frame == frameFingerprint_ && areBodiesAsBefore();
  if (isAsBefore && begun.wasFollowed && areUsesAsBefore(begun.module)) {
    begun_.reset();
    return false;
  }
  // Their constants are certain to exist only if the bodies are the same.
  if (isAsBefore && usesFingerprint(begun.module) == usesFingerprint_) {
    firstUsesFingerprint_ = fingerprintOfFirstUses(begun.module);
    keepQuick(/*areCurrent=*/true);
    begun_.reset();
    return false;
  }
  begun.isMarked = areSameFunctions(begun.module) && markChanges(begun.headers);
  if (!begun.isMarked) {
    return completeUpdate().changed;
  }
  change_.changed = true;
  change_.instructionsAfter = 0;
  for (const Body& body : bodies_) {
    change_.instructionsAfter += body.instructions;
  }
  return true;
}

const ModuleChange& ChangeTracker::completeUpdate() {
  if (begun_ && !begun_->isLookedAt) {
    lookAtRest();
  }
  if (!begun_) {
    return change_;
  }
  const BegunUpdate& begun = *begun_;
  firstUsesFingerprint_ = fingerprintOfFirstUses(begun.module);
  compare(begun);
  // A function may have changed after the tracker had compared others.
  keepQuick(/*areCurrent=*/!begun.wasFollowed);
  frameFingerprint_ = begun.frame;
  usesFingerprint_ = usesFingerprint(begun.module);
  const uint64_t restContent = contentOfRest(begun.module);
  change_.changed = restContent != restContent_ || !change_.functionsChanged.empty() ||
                    !change_.functionsAdded.empty() || !change_.functionsRemoved.empty();
  restContent_ = restContent;
  change_.instructionsAfter = countInstructions();
  begun_.reset();
  return change_;
}

void ChangeTracker::catchUp() {
  if (change_.changed) {
    leavesRest_ = !std::exchange(isRestWanted_, false);
  }
  completeUpdate();
}

void ChangeTracker::wantRest() {
  isRestWanted_ = true;
  if (begun_ && !begun_->isLookedAt) {
    lookAtRest();
  }
}

uint64_t ChangeTracker::instructions() {
  wantRest();
  return change_.instructionsAfter;
}

llvm::ArrayRef<ChangeTracker::Function> ChangeTracker::functions() {
  wantRest();
  return functions_;
}

}  // namespace compiler_gym::llvm_service
