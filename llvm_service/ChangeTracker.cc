#include "llvm_service/ChangeTracker.h"

#include <utility>

#include "llvm/ADT/StringMap.h"
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

}  // namespace

ChangeTracker::ChangeTracker(const llvm::Module& module)
    : restFingerprint_(fingerprintOfRest(module)), restContent_(contentHashOfRest(module)) {
  Namer name;
  for (const llvm::Function& function : module) {
    Function entry{name(function), fingerprint(function), 0, 0};
    entry.content = contentHash(function, entry.instructions);
    change_.instructionsAfter += entry.instructions;
    functions_.push_back(std::move(entry));
  }
  change_.instructionsBefore = change_.instructionsAfter;
}

bool ChangeTracker::isUntouched(const llvm::Module& module,
                                std::vector<uint64_t>& fingerprints) const {
  bool untouched = module.size() == functions_.size();
  fingerprints.reserve(functions_.size());
  for (const llvm::Function& function : module) {
    fingerprints.push_back(fingerprint(function));
    untouched = untouched && functions_[fingerprints.size() - 1].fingerprint == fingerprints.back();
  }
  return untouched;
}

void ChangeTracker::compare(const llvm::Module& module, const std::vector<uint64_t>& fingerprints) {
  std::vector<Function> after;
  after.reserve(fingerprints.size());
  std::vector<bool> found(functions_.size());
  Namer name;
  Finder find(functions_);
  for (const llvm::Function& function : module) {
    Function entry{name(function), fingerprints[after.size()], 0, 0};
    const size_t place = find(entry.name);
    const Function* before = place == functions_.size() ? nullptr : &functions_[place];
    if (before != nullptr && before->fingerprint == entry.fingerprint) {
      entry.content = before->content;
      entry.instructions = before->instructions;
    } else {
      entry.content = contentHash(function, entry.instructions);
    }
    if (before == nullptr) {
      change_.functionsAdded.push_back(entry.name);
    } else {
      found[place] = true;
      if (before->content != entry.content) {
        change_.functionsChanged.push_back(entry.name);
      }
    }
    after.push_back(std::move(entry));
  }
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (!found[i]) {
      change_.functionsRemoved.push_back(functions_[i].name);
    }
  }
  functions_ = std::move(after);
}

const ModuleChange& ChangeTracker::update(const llvm::Module& module) {
  const uint64_t instructions = change_.instructionsAfter;
  change_ = ModuleChange();
  change_.instructionsBefore = change_.instructionsAfter = instructions;
  std::vector<uint64_t> fingerprints;
  const bool untouched = isUntouched(module, fingerprints);
  const uint64_t rest = fingerprintOfRest(module);
  if (untouched && rest == restFingerprint_) {
    return change_;
  }
  compare(module, fingerprints);
  restFingerprint_ = rest;
  const uint64_t restContent = contentHashOfRest(module);
  change_.changed = restContent != restContent_ || !change_.functionsChanged.empty() ||
                    !change_.functionsAdded.empty() || !change_.functionsRemoved.empty();
  restContent_ = restContent;
  change_.instructionsAfter = 0;
  for (const Function& function : functions_) {
    change_.instructionsAfter += function.instructions;
  }
  return change_;
}

}  // namespace compiler_gym::llvm_service
