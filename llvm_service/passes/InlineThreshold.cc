#include "llvm/Analysis/InlineCost.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

// LLVM's own thresholds are 5 at -Oz, 50 at -Os and 225 at -O2. The others fill the gaps.
const std::vector<std::string>& usefulThresholds() {
  static const std::vector<std::string> thresholds = {"0", "5", "25", "50", "100", "500", "1000"};
  return thresholds;
}

bool addInliner(llvm::PassBuilder& /*passBuilder*/, llvm::StringRef parameter,
                llvm::ModulePassManager& manager) {
  int threshold = 0;
  if (parameter.getAsInteger(10, threshold) || threshold < 0) {
    return false;
  }
  manager.addPass(llvm::ModuleInlinerWrapperPass(llvm::getInlineParams(threshold)));
  return true;
}

}  // namespace

/// LLVM's inliner with a threshold as its parameter. In `opt`, the option -inline-threshold is for
/// the whole run, so LLVM's passes alone cannot inline a little first and more later.
OwnPass inlineThreshold() {
  const std::string name = "inline-threshold";
  return {name, "Inlines the calls whose estimated cost is below a threshold", PassLevel::kModule,
          byParameter(name, addInliner), usefulThresholds()};
}

}  // namespace compiler_gym::llvm_service
