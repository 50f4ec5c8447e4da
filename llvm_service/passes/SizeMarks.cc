#include "llvm_service/passes/SizeMarks.h"

#include "llvm/IR/Module.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::Attribute;

bool add(llvm::Function& function, Attribute::AttrKind kind) {
  const bool isNew = !function.hasFnAttribute(kind);
  function.addFnAttr(kind);
  return isNew;
}

struct MarkForSize : llvm::PassInfoMixin<MarkForSize> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
    return markForSize(module, level) ? llvm::PreservedAnalyses::none()
                                      : llvm::PreservedAnalyses::all();
  }

  ClangLevel level;
};

bool addMarks(llvm::PassBuilder& /*passBuilder*/, llvm::StringRef parameter,
              llvm::ModulePassManager& manager) {
  const std::optional<ClangLevel> level = levelOf(parameter);
  if (!level || level->size == 0) {
    return false;
  }
  MarkForSize pass;
  pass.level = *level;
  manager.addPass(std::move(pass));
  return true;
}

}  // namespace

bool markForSize(llvm::Module& module, const ClangLevel& level) {
  bool changed = false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasOptNone() || level.size == 0) {
      continue;
    }
    changed |= add(function, Attribute::OptimizeForSize);
    changed |= level.size == 2 && add(function, Attribute::MinSize);
  }
  return changed;
}

/// The attributes by which clang tells all passes and the code generator to prefer small code. The
/// texts `default<Os>` and `default<Oz>` only choose passes, which optimise functions without these
/// attributes for speed.
OwnPass sizeMarks() {
  const std::string name = "mark-for-size";
  return {name,
          "Tells later passes to prefer small code, by the attributes with which clang compiles "
          "every function at this level",
          PassLevel::kModule,
          byParameter(name, addMarks),
          {"Oz", "Os"},
          OwnPass::Spaces::kBoth};
}

}  // namespace compiler_gym::llvm_service
