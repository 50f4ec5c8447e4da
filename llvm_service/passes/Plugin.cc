// The passes of this project as a plugin: `opt -load-pass-plugin=compiler_gym-llvm-passes.so`.
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/passes/OwnPass.h"

extern "C" llvm::PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK llvmGetPassPluginInfo() {
  llvm::PassPluginLibraryInfo info = {};
  info.APIVersion = LLVM_PLUGIN_API_VERSION;
  info.PluginName = "compiler_gym-llvm-passes";
  info.PluginVersion = LLVM_VERSION_STRING;
  info.RegisterPassBuilderCallbacks = compiler_gym::llvm_service::registerOwnPasses;
  return info;
}
