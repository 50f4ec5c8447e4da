#include "llvm_service/ChangeTracker.h"

#include <algorithm>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "llvm_service/ContentHash.h"
#include "llvm_service/Fingerprint.h"

namespace compiler_gym::llvm_service {

namespace {

// Names the functions of a module, one after the other.
class Namer {
 public:
  std::string operator()(const llvm::Function& function) {
    return function.hasName() ? function.getName().str()
                              : "<unnamed " + std::to_string(unnamed_++) + ">";
  }

 private:
  size_t unnamed_ = 0;
};

// Finds functions by their names. Most are where they were, which needs no table.
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

// Whether code outside of a function uses a constant. Variables do not count: they are not code.
bool isUsedOutside(const llvm::Constant& constant, const llvm::Function& function) {
  return llvm::any_of(constant.users(), [&function](const llvm::User* user) {
    if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user)) {
      return instruction->getFunction() != &function;
    }
    return !llvm::isa<llvm::GlobalValue>(user) &&
           isUsedOutside(*llvm::cast<llvm::Constant>(user), function);
  });
}

// Whether a pass on the function can change another one: deleting a block replaces its address.
bool canChangeOthers(const llvm::Function& function) {
  return llvm::any_of(function, [&function](const llvm::BasicBlock& block) {
    return block.hasAddressTaken() && isUsedOutside(*llvm::BlockAddress::lookup(&block), function);
  });
}

}  // namespace

ChangeTracker::Function ChangeTracker::look(const llvm::Function& function, std::string name,
                                            uint64_t fingerprint) {
  Function entry{&function, std::move(name), fingerprint, 0, 0, ++lastVersion_, {}};
  entry.content = contentHash(function, entry.instructions);
  entry.constantUses = constantUses(function);
  return entry;
}

ChangeTracker::ChangeTracker(const llvm::Module& module)
    : headersFingerprint_(fingerprintOfHeaders(module)),
      restFingerprint_(fingerprintOfRest(module)) {
  Namer name;
  for (const llvm::Function& function : module) {
    functions_.push_back(look(function, name(function), fingerprint(function)));
  }
  numberFunctions();
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
    instructions += function.instructions;
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
  isFollowing_ = llvm::none_of(
      functions_, [](const Function& each) { return canChangeOthers(*each.function); });
  fingerprints_.clear();
  for (const Function& function : functions_) {
    fingerprints_.push_back(function.fingerprint);
  }
}

void ChangeTracker::functionDone(const llvm::Function& function) {
  const auto place = places_.find(&function);
  if (!isFollowing_ || place == places_.end()) {
    return moduleDone();
  }
  fingerprints_[place->second] = fingerprint(function);
}

std::vector<uint64_t> ChangeTracker::currentFingerprints(const llvm::Module& module,
                                                         bool isSameList) const {
  if (isFollowing_ && isSameList) {
    return fingerprints_;
  }
  std::vector<uint64_t> fingerprints;
  fingerprints.reserve(functions_.size());
  for (const llvm::Function& function : module) {
    fingerprints.push_back(fingerprint(function));
  }
  return fingerprints;
}

bool ChangeTracker::isUntouched(llvm::ArrayRef<uint64_t> fingerprints) const {
  return std::equal(fingerprints.begin(), fingerprints.end(), functions_.begin(), functions_.end(),
                    [](uint64_t now, const Function& then) { return now == then.fingerprint; });
}

void ChangeTracker::compare(const llvm::Module& module, llvm::ArrayRef<uint64_t> fingerprints) {
  std::vector<Function> after;
  after.reserve(fingerprints.size());
  std::vector<bool> found(functions_.size());
  Namer nameOf;
  Finder find(functions_);
  for (const llvm::Function& function : module) {
    const uint64_t fingerprint = fingerprints[after.size()];
    std::string name = nameOf(function);
    const size_t place = find(name);
    if (place == functions_.size()) {
      change_.functionsAdded.push_back(name);
      after.push_back(look(function, std::move(name), fingerprint));
      continue;
    }
    found[place] = true;
    Function& before = functions_[place];
    if (before.fingerprint == fingerprint && before.function == &function) {
      after.push_back(std::move(before));
      before.name = after.back().name;  // By which functions are found.
      continue;
    }
    after.push_back(look(function, std::move(name), fingerprint));
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
  const uint64_t instructions = change_.instructionsAfter;
  change_ = ModuleChange();
  change_.instructionsBefore = change_.instructionsAfter = instructions;
  const uint64_t headers = fingerprintOfHeaders(module);
  const std::vector<uint64_t> fingerprints =
      currentFingerprints(module, headers == headersFingerprint_);
  isFollowing_ = false;
  const uint64_t rest = fingerprintOfRest(module);
  if (headers == headersFingerprint_ && rest == restFingerprint_ && isUntouched(fingerprints)) {
    return change_;
  }
  compare(module, fingerprints);
  headersFingerprint_ = headers;
  restFingerprint_ = rest;
  const uint64_t restContent = contentOfRest(module);
  change_.changed = restContent != restContent_ || !change_.functionsChanged.empty() ||
                    !change_.functionsAdded.empty() || !change_.functionsRemoved.empty();
  restContent_ = restContent;
  change_.instructionsAfter = countInstructions();
  return change_;
}

}  // namespace compiler_gym::llvm_service
