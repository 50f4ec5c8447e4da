#include "llvm_service/passes/FunctionSettings.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/StructuralHash.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/passes/FunctionTraits.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Function;
using llvm::Module;
using llvm::ModuleAnalysisManager;
using llvm::ModulePassManager;
using llvm::PreservedAnalyses;
using llvm::StringRef;

// Returns an option of LLVM; null if there is none of this name.
llvm::cl::Option* optionNamed(StringRef name) {
  return llvm::cl::getRegisteredOptions().lookup(name);
}

// Sets an option. Returns whether there is one that takes the value.
bool setOption(StringRef name, StringRef value) {
  llvm::cl::Option* const option = optionNamed(name);
  if (option == nullptr) {
    return false;
  }
  option->reset();
  return !option->addOccurrence(/*pos=*/0, name, value);
}

void resetOption(StringRef name) { optionNamed(name)->reset(); }

#if LLVM_VERSION_MAJOR < 22
// Finds passes of the code generator by their titles, e.g. "Peephole Optimizations".
struct NameFinder : llvm::PassRegistrationListener {
  explicit NameFinder(StringRef title) : title(title), name(title) {
    llvm::PassRegistry::getPassRegistry()->enumerateWith(this);
  }

  void passEnumerate(const llvm::PassInfo* pass) override {
    if (pass->getPassName() == title) {
      name = pass->getPassArgument();
    }
  }

  StringRef title;
  StringRef name;
};
#endif

// The options with their values, by name.
using Options = llvm::StringMap<std::string>;

// GVN notes the edges of a function that it has to split, and splits all that it has noted when it
// does PRE. If that is only on for the next function, then edges of the former one are split while
// the next one is compiled: its code is wrong, and LLVM may crash.
bool isForWholeProgramsAlone(StringRef option) {
  return option == "enable-pre" || option == "enable-scalar-pre";  // The name in LLVM 23.
}

// Skips chosen passes in chosen functions, and sets options while passes run on a function. All
// optional passes of LLVM query it.
class FunctionSettings : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }

  // LLVM calls functions "function (name)" here. Loops are all called "loop".
  bool shouldRunPass(StringRef pass, StringRef description)
#if LLVM_VERSION_MAJOR >= 22
      const
#endif
      override {
    if (description.consume_front("function (") && description.consume_back(")")) {
#if LLVM_VERSION_MAJOR < 22  // The code generator tells titles of passes.
      pass = functions_.contains(description) ? NameFinder(pass).name : pass;
#endif
      return enter(description, pass);
    }
    leave();
    return true;
  }

  // Sets the options of a function. Returns whether the pass runs on it.
  bool enter(StringRef function, StringRef pass) const {
    const auto found = functions_.find(function);
    if (found == functions_.end()) {
      leave();
      return true;
    }
    if (current_ != &found->second) {
      leave();
      current_ = &found->second;
      for (const auto& option : current_->options) {
        setOption(option.first(), option.second);
      }
    }
    return !current_->skipped.contains(pass);
  }

  // Sets the options that are not of a function.
  void leave() const {
    if (current_ == nullptr) {
      return;
    }
    for (const auto& option : current_->options) {
      const auto common = common_.find(option.first());
      if (common == common_.end()) {
        resetOption(option.first());
      } else {
        setOption(option.first(), common->second);
      }
    }
    current_ = nullptr;
  }

  void skip(StringRef pass, StringRef function) { functions_[function].skipped.insert(pass); }

  // Returns false if there is no such option, or if it is also set elsewhere.
  bool set(StringRef name, StringRef value, StringRef function) {
    leave();
    const auto common = common_.find(name);
    const bool isCommon = common != common_.end();
    if (isForWholeProgramsAlone(name) || (!isCommon && isUsed(name)) || !setOption(name, value)) {
      return false;
    }
    if (isCommon) {
      setOption(name, common->second);
    } else {
      resetOption(name);
    }
    functions_[function].options[name] = value.str();
    return true;
  }

  bool setCommon(StringRef name, StringRef value) {
    if (isUsed(name) || !setOption(name, value)) {
      return false;
    }
    common_[name] = value.str();
    return true;
  }

  void clear() {
    leave();
    for (const auto& option : common_) {
      resetOption(option.first());
    }
    common_.clear();
    functions_.clear();
  }

 private:
  struct Settings {
    llvm::StringSet<> skipped;
    Options options;
  };

  static bool isUsed(StringRef name) {
    const llvm::cl::Option* const option = optionNamed(name);
    return option != nullptr && option->getNumOccurrences() > 0;
  }

  llvm::StringMap<Settings> functions_;
  Options common_;
  mutable const Settings* current_ = nullptr;
};

// Returns the object of the process. A clang process compiles one module, and the code generator
// queries the object long after the pass that fills it.
FunctionSettings& functionSettings() {
  static FunctionSettings settings;
  return settings;
}

llvm::SmallVector<Function*> definedFunctions(Module& module) {
  llvm::SmallVector<Function*> functions;
  for (Function& function : module) {
    if (!function.isDeclaration()) {
      functions.push_back(&function);
    }
  }
  return functions;
}

llvm::json::Object describe(size_t index, const Function& function, const FunctionTraits& traits) {
  const uint64_t content = llvm::StructuralHash(function, /*DetailedHash=*/true);
  return llvm::json::Object{{"index", static_cast<int64_t>(index)},
                            {"name", llvm::json::fixUTF8(function.getName())},
                            {"content", llvm::utohexstr(content, /*LowerCase=*/true)},
                            {"kept", traits.isKept},
                            {"recursive", traits.isRecursive},
                            {"special", llvm::json::Array(traits.special)}};
}

struct ListFunctions : llvm::PassInfoMixin<ListFunctions> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    const ModuleTraits traits(module);
    for (auto [index, function] : llvm::enumerate(definedFunctions(module))) {
      llvm::outs() << llvm::json::Value(describe(index, *function, traits.of(*function))) << "\n";
    }
    return PreservedAnalyses::all();
  }
};

struct SetFunctions : llvm::PassInfoMixin<SetFunctions> {
  // What is set for all functions, and for each by its number.
  std::vector<std::string> common;
  std::vector<std::pair<size_t, std::string>> settings;

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    llvm::LLVMContext& context = module.getContext();
    for (const std::string& text : common) {
      if (!adjustAllFunctions(text)) {
        refuse(context, text);
      }
    }
    const ModuleTraits traits(module);
    const auto functions = definedFunctions(module);
    for (const auto& [index, text] : settings) {
      if (index >= functions.size()) {
        context.emitError("There is no function " + llvm::Twine(index) + " in " + module.getName());
      } else if (traits.of(*functions[index]).permits(text) &&
                 !adjustFunction(*functions[index], text)) {
        refuse(context, text);
      }
    }
    return PreservedAnalyses::none();
  }

 private:
  static void refuse(llvm::LLVMContext& context, StringRef text) {
    context.emitError(
        "There is no option " + text +
        " of LLVM, its value is wrong, or it is set or only meant for the whole program");
  }
};

bool addSetFunctions(llvm::PassBuilder& /*passBuilder*/, StringRef parameter,
                     ModulePassManager& manager) {
  SetFunctions pass;
  const auto settings = parseSettings(parameter);
  for (const auto& [index, text] : settings) {
    if (index.has_value()) {
      pass.settings.emplace_back(*index, text.str());
    } else if (text.starts_with("-")) {
      pass.common.push_back(text.str());
    } else {
      return false;
    }
  }
  manager.addPass(std::move(pass));
  return !settings.empty();
}

// Tells which passes are left out after `skip-rest`.
struct SkippedRest {
  bool isSkipped = false;
  // Functions whose recursion or contents need the passes.
  llvm::StringSet<> spared;

  bool contains(StringRef pass, const Function* function) const {
    return isSkipped && !isForTailCalls(pass) &&
           (function == nullptr || !spared.contains(function->getName()));
  }
};

// One for the process, like FunctionSettings.
SkippedRest& skippedRest() {
  static SkippedRest rest;
  return rest;
}

struct SkipRest : llvm::PassInfoMixin<SkipRest> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    const ModuleTraits traits(module);
    for (const Function* function : definedFunctions(module)) {
      const FunctionTraits& mine = traits.of(*function);
      if (mine.isExcluded() || mine.isRecursive) skippedRest().spared.insert(function->getName());
    }
    skippedRest().isSkipped = true;
    return PreservedAnalyses::all();
  }
};

const Function* functionOf(const llvm::Any& unit) {
  if (const auto* function = llvm::any_cast<const Function*>(&unit)) {
    return *function;
  }
  if (const auto* loop = llvm::any_cast<const llvm::Loop*>(&unit)) {
    return (*loop)->getHeader()->getParent();
  }
  return nullptr;
}

}  // namespace

bool adjustFunction(Function& function, StringRef text) {
  const auto [name, value] = text.ltrim('-').split('=');
  const bool isOption = text.starts_with("-");
  if (!isOption && text.contains('=')) {
    if (!function.hasFnAttribute(llvm::Attribute::OptimizeNone)) {
      function.addFnAttr(name, value);
    }
    return true;
  }
  if (isOption && !functionSettings().set(name, value, function.getName())) {
    return false;
  }
  if (!isOption) {
    functionSettings().skip(text, function.getName());
  }
  function.getContext().setOptPassGate(functionSettings());
  return true;
}

bool adjustAllFunctions(StringRef option) {
  const auto [name, value] = option.ltrim('-').split('=');
  return functionSettings().setCommon(name, value);
}

void clearFunctionSettings() { functionSettings().clear(); }

// Passes of the code generator ask the context instead.
void askBeforePasses(llvm::PassBuilder& passBuilder) {
  llvm::PassInstrumentationCallbacks* callbacks = passBuilder.getPassInstrumentationCallbacks();
  if (callbacks == nullptr) {
    return;
  }
  callbacks->registerShouldRunOptionalPassCallback(
      [callbacks](StringRef className, const llvm::Any& unit) {
        const Function* function = functionOf(unit);
        const StringRef pass = callbacks->getPassNameForClassName(className);
        const bool isInRest = skippedRest().contains(pass, function);
        if (function == nullptr) {
          functionSettings().leave();
          return !isInRest;
        }
        return functionSettings().enter(function->getName(), pass) && !isInRest;
      });
}

void registerFunctionSettings(llvm::PassBuilder& passBuilder) {
  byName<ModulePassManager>("list-functions", addTo<ListFunctions, ModulePassManager>)(passBuilder);
  byParameter("set-functions", addSetFunctions)(passBuilder);
  byName<ModulePassManager>("skip-rest", addTo<SkipRest, ModulePassManager>)(passBuilder);
  askBeforePasses(passBuilder);
}

}  // namespace compiler_gym::llvm_service
