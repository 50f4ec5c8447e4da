#include "llvm_service/passes/Levels.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr unsigned kFirstWithoutSizePipelines = 23;

bool isForSize(llvm::StringRef name) { return name == "Os" || name == "Oz"; }

#if LLVM_VERSION_MAJOR >= 23
constexpr const llvm::OptimizationLevel& kOs = llvm::OptimizationLevel::O2;
constexpr const llvm::OptimizationLevel& kOz = llvm::OptimizationLevel::O2;
#else
constexpr const llvm::OptimizationLevel& kOs = llvm::OptimizationLevel::Os;
constexpr const llvm::OptimizationLevel& kOz = llvm::OptimizationLevel::Oz;
#endif

}  // namespace

std::optional<ClangLevel> levelOf(llvm::StringRef name) {
  using llvm::OptimizationLevel;
  return llvm::StringSwitch<std::optional<ClangLevel>>(name)
      .Case("O1", ClangLevel{OptimizationLevel::O1})
      .Case("O2", ClangLevel{OptimizationLevel::O2})
      .Case("O3", ClangLevel{OptimizationLevel::O3})
      .Case("Os", ClangLevel{kOs, 1})
      .Case("Oz", ClangLevel{kOz, 2})
      .Default(std::nullopt);
}

std::string defaultPipeline(llvm::StringRef name, unsigned version) {
  const bool isGone = isForSize(name) && version >= kFirstWithoutSizePipelines;
  return ("default<" + (isGone ? llvm::StringRef("O2") : name) + ">").str();
}

std::string baselinePipeline(llvm::StringRef name, unsigned version) {
  const std::string pipeline = defaultPipeline(name, version);
  const bool isGone = isForSize(name) && version >= kFirstWithoutSizePipelines;
  return isGone ? "mark-for-size<" + name.str() + ">," + pipeline : pipeline;
}

}  // namespace compiler_gym::llvm_service
