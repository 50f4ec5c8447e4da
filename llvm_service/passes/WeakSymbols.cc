#include "llvm_service/passes/WeakSymbols.h"

#include <utility>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::GlobalValue;
using llvm::Module;
using llvm::ModuleAnalysisManager;
using llvm::ModulePassManager;
using llvm::PreservedAnalyses;

llvm::SmallVector<GlobalValue*> droppedWithoutUses(Module& module) {
  llvm::SmallVector<GlobalValue*> values;
  for (GlobalValue& value : module.global_values()) {
    if (value.hasLinkOnceLinkage() && !value.hasHiddenVisibility()) {
      values.push_back(&value);
    }
  }
  return values;
}

struct ListWeak : llvm::PassInfoMixin<ListWeak> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    for (auto [index, value] : llvm::enumerate(droppedWithoutUses(module))) {
      llvm::outs() << llvm::json::Value(
                          llvm::json::Object{{"index", static_cast<int64_t>(index)},
                                             {"name", llvm::json::fixUTF8(value->getName())}})
                   << "\n";
    }
    return PreservedAnalyses::all();
  }
};

struct KeepWeak : llvm::PassInfoMixin<KeepWeak> {
  std::vector<size_t> indices;

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& /*analyses*/) {
    const auto values = droppedWithoutUses(module);
    for (const size_t index : indices) {
      if (index >= values.size()) {
        module.getContext().emitError("There is no weak symbol " + llvm::Twine(index) + " in " +
                                      module.getName());
        continue;
      }
      // The copies stay the same for the linker, and for all passes but those that drop them.
      values[index]->setLinkage(
          GlobalValue::getWeakLinkage(values[index]->hasLinkOnceODRLinkage()));
    }
    return PreservedAnalyses::none();
  }
};

bool addKeepWeak(llvm::PassBuilder& /*passBuilder*/, llvm::StringRef parameter,
                 ModulePassManager& manager) {
  KeepWeak pass;
  llvm::SmallVector<llvm::StringRef> words;
  parameter.split(words, ':');
  for (const llvm::StringRef word : words) {
    size_t index = 0;
    if (word.getAsInteger(/*Radix=*/10, index)) {
      return false;
    }
    pass.indices.push_back(index);
  }
  manager.addPass(std::move(pass));
  return true;
}

}  // namespace

void registerWeakSymbols(llvm::PassBuilder& passBuilder) {
  byName<ModulePassManager>("list-weak", addTo<ListWeak, ModulePassManager>)(passBuilder);
  byParameter("keep-weak", addKeepWeak)(passBuilder);
}

}  // namespace compiler_gym::llvm_service
