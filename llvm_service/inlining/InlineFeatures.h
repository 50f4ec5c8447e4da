#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
}

namespace compiler_gym::llvm_service {

/// The names of the features of a call that the inliner asks about, each with what it means.
std::vector<std::pair<std::string, std::string>> namesOfInlineFeatures();

/// The features of a call of a function that can be inlined, in the same order. Analyses that the
/// inliner does not ask for itself are not cached.
std::vector<int64_t> inlineFeaturesOf(llvm::CallBase& call,
                                      llvm::FunctionAnalysisManager& analyses);

}  // namespace compiler_gym::llvm_service
