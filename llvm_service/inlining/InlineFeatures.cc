#include "llvm_service/inlining/InlineFeatures.h"

#include <optional>

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm_service/observations/FunctionProperties.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Function;

constexpr const char* kSides[] = {"caller", "callee"};

// Returns the number of users in the module, plus one if other modules may call the function.
int64_t usersOf(const Function& function) {
  return static_cast<int64_t>(function.getNumUses()) + (function.hasLocalLinkage() ? 0 : 1);
}

int64_t loopDepthOf(const llvm::CallBase& call) {
  const llvm::DominatorTree tree(const_cast<Function&>(*call.getFunction()));
  const llvm::LoopInfo loops(tree);
  return loops.getLoopDepth(call.getParent());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> namesOfInlineFeatures() {
  std::vector<std::pair<std::string, std::string>> names = {
#define FEATURE(type, shape, name, description) {#name, description},
      INLINE_COST_FEATURE_ITERATOR(FEATURE)
#undef FEATURE
          {"loop_depth", "Number of loops of the caller around the call"},
  };
  for (const std::string side : kSides) {
    names.emplace_back(side + "_users",
                       "Users of the " + side + " in the module, one more if others may call it");
    names.emplace_back(side + "_is_local", "Whether only the module can call the " + side);
  }
  for (const std::string side : kSides) {
    for (const std::string& property : namesOfProperties()) {
      names.emplace_back(side + "_" + property, "FunctionProperties of the " + side);
    }
  }
  return names;
}

std::vector<int64_t> inlineFeaturesOf(llvm::CallBase& call,
                                      llvm::FunctionAnalysisManager& analyses) {
  Function& callee = *call.getCalledFunction();
  const auto assumptionsOf = [&](Function& function) -> llvm::AssumptionCache& {
    return analyses.getResult<llvm::AssumptionAnalysis>(function);
  };
  const auto costs = llvm::getInliningCostFeatures(
      call, analyses.getResult<llvm::TargetIRAnalysis>(callee), assumptionsOf);
  std::vector<int64_t> features(std::tuple_size<llvm::InlineCostFeatures>::value);
  if (costs) features.assign(costs->begin(), costs->end());
  features.push_back(loopDepthOf(call));
  const Function* functions[] = {call.getFunction(), &callee};
  for (const Function* function : functions) {
    features.push_back(usersOf(*function));
    features.push_back(function->hasLocalLinkage() ? 1 : 0);
  }
  for (const Function* function : functions) {
    const std::vector<int64_t> properties = propertiesOf(*function);
    features.insert(features.end(), properties.begin(), properties.end());
  }
  return features;
}

}  // namespace compiler_gym::llvm_service
