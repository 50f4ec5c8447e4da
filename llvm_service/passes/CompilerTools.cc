#include "llvm_service/passes/CompilerTools.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/passes/CallSites.h"
#include "llvm_service/passes/FunctionTraits.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Attribute;
using llvm::CallBase;
using llvm::Function;
using llvm::Module;
using llvm::ModuleAnalysisManager;
using llvm::ModulePassManager;
using llvm::PreservedAnalyses;
using llvm::StringRef;

llvm::json::Object describe(size_t index, const CallBase& call) {
  const Function& callee = *call.getCalledFunction();
  return llvm::json::Object{{"index", static_cast<int64_t>(index)},
                            {"caller", llvm::json::fixUTF8(call.getFunction()->getName())},
                            {"callee", llvm::json::fixUTF8(callee.getName())},
                            {"local", callee.hasLocalLinkage()},
                            {"discardable", callee.isDiscardableIfUnused()},
                            {"size", static_cast<int64_t>(callee.getInstructionCount())},
                            {"blocks", static_cast<int64_t>(callee.size())},
                            {"arguments", static_cast<int64_t>(call.arg_size())},
                            {"constants", constantsOf(call)},
                            {"other_uses", otherUsesOf(callee)}};
}

// Returns the number of executions of a call; nothing without a profile.
std::optional<uint64_t> countOf(CallBase& call, llvm::FunctionAnalysisManager& analyses) {
  Function& caller = *call.getFunction();
  if (!caller.getEntryCount().has_value()) {
    return std::nullopt;
  }
  const auto& frequencies = analyses.getResult<llvm::BlockFrequencyAnalysis>(caller);
  return frequencies.getBlockProfileCount(call.getParent());
}

struct ListCallSites : llvm::PassInfoMixin<ListCallSites> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    auto& ofFunctions =
        analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    const auto targetOf = [&](Function& function) -> const llvm::TargetTransformInfo& {
      return ofFunctions.getResult<llvm::TargetIRAnalysis>(function);
    };
    const ModuleTraits traits(module);
    const auto calls = callSites(module);
    for (const size_t index : openCallSites(module, targetOf)) {
      if (!traits.permits(*calls[index])) continue;
      llvm::json::Object facts = describe(index, *calls[index]);
      if (const auto count = countOf(*calls[index], ofFunctions)) {
        facts["count"] = static_cast<int64_t>(*count);
      }
      llvm::outs() << llvm::json::Value(std::move(facts)) << "\n";
    }
    return PreservedAnalyses::all();
  }
};

struct SetCallSites : llvm::PassInfoMixin<SetCallSites> {
  // The inlining decisions, indexed by the number of the call.
  std::vector<std::pair<size_t, bool>> decisions;

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    const ModuleTraits traits(module);
    const auto calls = callSites(module);
    for (const auto& [index, inlined] : decisions) {
      if (index >= calls.size()) {
        module.getContext().emitError("There is no call " + llvm::Twine(index) + " in " +
                                      module.getName());
        continue;
      }
      if (!traits.permits(*calls[index])) continue;
      decideCall(*calls[index], inlined);
    }
    return PreservedAnalyses::none();
  }
};

bool addSetCallSites(llvm::PassBuilder& /*passBuilder*/, StringRef parameter,
                     ModulePassManager& manager) {
  SetCallSites pass;
  const auto settings = parseSettings(parameter);
  for (const auto& [index, text] : settings) {
    if (!index.has_value() || (text != "inline" && text != "noinline")) {
      return false;
    }
    pass.decisions.emplace_back(*index, text == "inline");
  }
  manager.addPass(std::move(pass));
  return !settings.empty();
}

struct SetAttribute : llvm::PassInfoMixin<SetAttribute> {
  std::string attribute;
  std::string value;

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    const Attribute::AttrKind kind = Attribute::getAttrKindFromName(attribute);
    const ModuleTraits traits(module);
    for (Function& function : module) {
      if (function.isDeclaration() || function.hasFnAttribute(Attribute::OptimizeNone) ||
          traits.of(function).isExcluded()) {
        continue;
      }
      if (kind == Attribute::None) {
        function.addFnAttr(attribute, value);
      } else {
        function.addFnAttr(kind);
      }
    }
    return PreservedAnalyses::none();
  }
};

// Adds an attribute. LLVM's own attributes have names only; those of targets have values, too.
bool addSetAttribute(llvm::PassBuilder& /*passBuilder*/, StringRef parameter,
                     ModulePassManager& manager) {
  const auto [name, value] = parameter.split('=');
  const Attribute::AttrKind kind = Attribute::getAttrKindFromName(name);
  const bool isPlain = kind != Attribute::None && Attribute::isEnumAttrKind(kind) &&
                       Attribute::canUseAsFnAttr(kind) && !parameter.contains('=');
  const bool isText = kind == Attribute::None && parameter.contains('=') && !name.empty();
  if (isPlain || isText) {
    SetAttribute pass;
    pass.attribute = name.str();
    pass.value = value.str();
    manager.addPass(std::move(pass));
  }
  return isPlain || isText;
}

}  // namespace

void registerCompilerTools(llvm::PassBuilder& passBuilder) {
  byName<ModulePassManager>("list-call-sites",
                            addTo<ListCallSites, ModulePassManager>)(passBuilder);
  byParameter("set-call-sites", addSetCallSites)(passBuilder);
  byParameter("set-attribute", addSetAttribute)(passBuilder);
}

}  // namespace compiler_gym::llvm_service
