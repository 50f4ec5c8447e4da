#include "llvm_service/costs/ObjectTextParts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm_service/IrHash.h"
#include "llvm_service/costs/CodeSize.h"

namespace compiler_gym::llvm_service {

namespace {

// Jumps over at most 128 bytes are short. The assembler begins with short jumps of two bytes, and
// lengthens those that do not reach to at most six. So a target beyond this distance cannot have
// been within reach.
constexpr int64_t kNear = 3 * 128 + 16;

// The greatest alignment of variables that has an effect here.
constexpr uint64_t kMaxAlignment = 64;

constexpr uint64_t kFrameAlignment = 8;

// Hashes the surroundings of a function that the code generator sees: the declarations of all
// functions and variables that it refers to, directly or through others.
class SurroundingsHasher : public ir_hash::WordHasher {
 public:
  void addOwner(const llvm::Value&) {}
  void addUses(const llvm::Value&) {}
  void addOperand(const llvm::Use& use) { addIdentity(*use.get()); }

  void addIdentity(const llvm::Value& value) {
    if (ir_hash::isCompound(value)) {
      return ir_hash::addConstant(llvm::cast<llvm::Constant>(value), *this);
    }
    add(&value);
    const auto* global = llvm::dyn_cast<llvm::GlobalValue>(&value);
    if (global != nullptr && known_.insert(global).second) {
      globals_.push_back(global);
    }
  }

  // Call this once, after the function.
  void addGlobals() {
    for (size_t i = 0; i < globals_.size(); ++i) {
      beginPart();
      if (const auto* function = llvm::dyn_cast<llvm::Function>(globals_[i])) {
        ir_hash::addHeader(*function, *this);
        add(uint64_t{function->isDeclaration()});
      } else if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(globals_[i])) {
        ir_hash::addVariable(*variable, *this);
      }
    }
  }

 private:
  llvm::DenseSet<const llvm::GlobalValue*> known_;
  std::vector<const llvm::GlobalValue*> globals_;
};

uint64_t keyOf(const ChangeTracker::Function& function) {
  SurroundingsHasher hasher;
  hasher.add(function.version);
  hasher.addIdentity(*function.function);
  for (const ConstantUse& use : function.constantUses) {
    hasher.addIdentity(*use.user->getOperand(use.operand));
  }
  hasher.addGlobals();
  return hasher.result();
}

uint64_t keyOfVariables(const llvm::Module& module, uint64_t before) {
  SurroundingsHasher hasher;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    hasher.addIdentity(variable);
  }
  hasher.addGlobals();
  hasher.add(before);
  return hasher.result();
}

std::vector<const ChangeTracker::Function*> emittedFunctions(Compilation& compilation) {
  std::vector<const ChangeTracker::Function*> functions;
  for (const ChangeTracker::Function& function : compilation.functions()) {
    if (!function.function->isDeclarationForLinker()) {
      functions.push_back(&function);
    }
  }
  return functions;
}

}  // namespace

std::optional<int64_t> ObjectTextParts::compute(Compilation& compilation) {
  if (hasFailed_ || !isSeparable(compilation.module())) {
    return std::nullopt;
  }
  const std::optional<int64_t> size = sumOfParts(compilation);
  hasFailed_ = !size;
  return size;
}

std::optional<int64_t> ObjectTextParts::sumOfParts(Compilation& compilation) {
  const std::vector<const ChangeTracker::Function*> functions = emittedFunctions(compilation);
  std::vector<Unit> units;
  do {
    units = divide(functions);
    if (!generate(units, compilation)) {
      return std::nullopt;
    }
  } while (joinNeighbours(units));
  return sizeOf(units, compilation);
}

std::vector<ObjectTextParts::Unit> ObjectTextParts::divide(Functions functions) const {
  std::vector<Unit> units;
  for (const ChangeTracker::Function* function : functions) {
    if (units.empty() || joined_.count(function->name) == 0) {
      units.emplace_back();
    }
    units.back().functions.push_back(function->name);
    units.back().key.push_back(keyOf(*function));
  }
  return units;
}

bool ObjectTextParts::generate(const std::vector<Unit>& units, Compilation& compilation) {
  std::unique_ptr<ModuleShell> shell;
  std::map<Key, CodePart> before = std::exchange(parts_, {});
  for (const Unit& unit : units) {
    if (auto known = before.extract(unit.key)) {
      parts_.insert(std::move(known));
      continue;
    }
    if (shell == nullptr) {
      shell = ModuleShell::make(compilation.bitcode());
      if (shell == nullptr) {
        return false;
      }
      shell->hideVariables();
    }
    if (!generateUnit(unit, *shell)) {
      return false;
    }
  }
  return true;
}

bool ObjectTextParts::generateUnit(const Unit& unit, ModuleShell& shell) {
  const std::optional<llvm::StringRef> object = objectOf(shell, unit.functions);
  if (!object) {
    return false;
  }
  CodePart& part = parts_[unit.key];
  // Private functions have no symbols. Names that begin with \01 have other symbols.
  return readCodePart(*object, part) &&
         llvm::all_of(unit.functions,
                      [&part](const std::string& name) { return part.functions.count(name) > 0; });
}

std::optional<llvm::StringRef> ObjectTextParts::objectOf(
    ModuleShell& shell, const std::vector<std::string>& functions) {
  if (generator_ == nullptr && !CodeGenerator::make(shell.module(), generator_).ok()) {
    return std::nullopt;
  }
  llvm::StringRef object;
  const auto run = [&](llvm::Module& module) { object = generator_->run(module); };
  if (!shell.with(functions, run) || !shell.takeErrors().empty()) {
    return std::nullopt;
  }
  return object;
}

// Joins functions of different units with near jumps between them.
//
// @return true if there are any.
bool ObjectTextParts::joinNeighbours(const std::vector<Unit>& units) {
  struct Position {
    std::string section;
    int64_t offset;
    size_t index;
  };
  std::vector<std::string> names;
  llvm::StringMap<Position> positions;
  std::vector<std::pair<std::string, Position>> jumps;  // With their targets.
  std::map<std::string, int64_t> ends;
  for (const Unit& unit : units) {
    const CodePart& part = parts_.at(unit.key);
    const size_t first = names.size();
    for (const std::string& name : unit.functions) {
      const CodePart::Place& place = part.functions.at(name);
      positions[name] = {place.section, ends[place.section] + place.offset, names.size()};
      names.push_back(name);
    }
    for (const CodePart::Jump& jump : part.jumps) {
      const int64_t end = ends[jump.end.section] + jump.end.offset;
      jumps.push_back(
          {ModuleShell::originalName(jump.target).str(), {jump.end.section, end, first}});
    }
    for (const auto& [section, bytes] : part.sections) {
      ends[section] += bytes;
    }
  }
  bool found = false;
  for (const auto& [name, from] : jumps) {
    const auto target = positions.find(name);
    if (target == positions.end() || target->second.section != from.section ||
        std::abs(target->second.offset - from.offset) > kNear) {
      continue;
    }
    const auto [first, last] = std::minmax(from.index, target->second.index);
    for (size_t i = first + 1; i <= last; ++i) {
      found |= joined_.insert(names[i]).second;
    }
  }
  return found;
}

// The read-only variables follow jump tables in their section.
bool ObjectTextParts::generateVariables(Compilation& compilation, uint64_t before) {
  const uint64_t padding = before % kMaxAlignment;
  const uint64_t key = keyOfVariables(compilation.module(), padding);
  if (key == variablesKey_) {
    return true;
  }
  const std::unique_ptr<ModuleShell> shell = ModuleShell::make(compilation.bitcode());
  if (shell == nullptr) {
    return false;
  }
  if (padding > 0) {
    shell->addPadding(padding);
  }
  const std::optional<llvm::StringRef> object = objectOf(*shell, {});
  if (!object || !textSize(*object, variables_).ok()) {
    return false;
  }
  variables_ -= static_cast<int64_t>(padding);
  variablesKey_ = key;
  return true;
}

std::optional<int64_t> ObjectTextParts::sizeOf(const std::vector<Unit>& units,
                                               Compilation& compilation) {
  int64_t size = 0;
  int64_t frames = 0;
  int64_t frameHeader = 0;
  int64_t tables = 0;
  for (const Unit& unit : units) {
    const CodePart& part = parts_.at(unit.key);
    for (const auto& [section, bytes] : part.sections) {
      size += bytes;
      tables += section == ".rodata" ? bytes : 0;
    }
    frames += part.frames;
    frameHeader = std::max(frameHeader, part.frameHeader);
  }
  if (!generateVariables(compilation, static_cast<uint64_t>(tables))) {
    return std::nullopt;
  }
  return size + variables_ +
         static_cast<int64_t>(llvm::alignTo(frameHeader + frames, kFrameAlignment));
}

}  // namespace compiler_gym::llvm_service
