#include "llvm_service/passes/Levels.h"

#include "llvm/ADT/StringSwitch.h"

namespace compiler_gym::llvm_service {

std::optional<llvm::OptimizationLevel> levelOf(llvm::StringRef name) {
  using llvm::OptimizationLevel;
  return llvm::StringSwitch<std::optional<OptimizationLevel>>(name)
      .Case("O1", OptimizationLevel::O1)
      .Case("O2", OptimizationLevel::O2)
      .Case("O3", OptimizationLevel::O3)
      .Case("Os", OptimizationLevel::Os)
      .Case("Oz", OptimizationLevel::Oz)
      .Default(std::nullopt);
}

}  // namespace compiler_gym::llvm_service
