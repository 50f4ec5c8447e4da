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

/// The names and descriptions of the features of a call that the inliner asks about.
std::vector<std::pair<std::string, std::string>> namesOfInlineFeatures();

/// The features of a call of a function that can be inlined, in the same order. Does not cache
/// analyses that the inliner itself does not use.
std::vector<int64_t> inlineFeaturesOf(llvm::CallBase& call,
                                      llvm::FunctionAnalysisManager& analyses);

}  // namespace compiler_gym::llvm_service
