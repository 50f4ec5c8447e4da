// A plugin that makes the code of one run of clang smaller:
// `clang -Oz -fpass-plugin=compiler_gym-oz.so -c program.c`.
#include "llvm/Passes/PassBuilder.h"
#include "llvm_service/passes/PluginInfo.h"
#include "llvm_service/passes/SizeDecisions.h"

extern "C" llvm::PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK llvmGetPassPluginInfo() {
  return compiler_gym::llvm_service::pluginInfo("compiler_gym-oz",
                                                compiler_gym::llvm_service::registerSizeDecisions);
}
