#pragma once

#include "llvm-c/Core.h"
#include "llvm_service/LlvmCompatibility.h"

namespace compiler_gym::llvm_service {

/// Returns what LLVM asks of a plugin. LLVM refuses a plugin of version 0 and names it, so a plugin
/// has it in another LLVM than its own. The loader does not compare versions, as plugins are not
/// linked with LLVM.
inline llvm::PassPluginLibraryInfo pluginInfo(const char* name,
                                              void (*registerAll)(llvm::PassBuilder&)) {
  unsigned major = 0;
  unsigned minor = 0;
  LLVMGetVersion(&major, &minor, /*Patch=*/nullptr);
  const bool isOwnLlvm = major == LLVM_VERSION_MAJOR && minor == LLVM_VERSION_MINOR;
  llvm::PassPluginLibraryInfo info = {};
  info.APIVersion = isOwnLlvm ? LLVM_PLUGIN_API_VERSION : 0;
  info.PluginName = name;
  info.PluginVersion = LLVM_VERSION_STRING;
  info.RegisterPassBuilderCallbacks = registerAll;
  return info;
}

}  // namespace compiler_gym::llvm_service
