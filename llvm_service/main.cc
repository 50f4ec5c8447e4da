#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm_service/LlvmSession.h"

namespace {

/// LLVM's own allocations that fail do what failing `new` does: the runtime ends the session.
void onBadAlloc(void* /*data*/, const char* /*reason*/, bool /*crashDiagnostics*/) {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  std::abort();
}

constexpr char kPluginFlag[] = "load-pass-plugin";

/// The arguments, with several --load-pass-plugin=X made one of which the values are separated by
/// semicolons: gflags would keep the last only.
std::vector<std::string> joinPluginFlags(llvm::ArrayRef<char*> arguments) {
  std::vector<std::string> joined;
  std::string plugins;
  for (const char* text : arguments) {
    llvm::StringRef argument = text;
    llvm::StringRef name = argument.split('=').first;
    std::string spelled = name.ltrim('-').str();
    std::replace(spelled.begin(), spelled.end(), '_', '-');
    if (name.starts_with("-") && argument.contains('=') && spelled == kPluginFlag) {
      plugins += (plugins.empty() ? "" : ";") + argument.split('=').second.str();
    } else {
      joined.push_back(argument.str());
    }
  }
  if (!plugins.empty()) {
    joined.insert(joined.begin() + 1, "--load_pass_plugin=" + plugins);
  }
  return joined;
}

}  // namespace

int main(int argc, char** argv) {
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  std::vector<std::string> arguments = joinPluginFlags({argv, static_cast<size_t>(argc)});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return compiler_gym::runtime::createAndRunCompilerGymService<
      compiler_gym::llvm_service::LlvmSession>(
      static_cast<int>(arguments.size()), pointers.data(),
      "Compiles programs with LLVM, one pass at a time, for CompilerGym clients.");
}
