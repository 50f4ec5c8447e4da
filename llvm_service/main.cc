#include <cstdlib>
#include <new>

#include "compiler_gym/service/runtime/Runtime.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm_service/LlvmSession.h"

namespace {

/// LLVM's own allocations that fail do what failing `new` does: the runtime ends the session.
void onBadAlloc(void* /*data*/, const char* /*reason*/, bool /*crashDiagnostics*/) {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  return compiler_gym::runtime::createAndRunCompilerGymService<
      compiler_gym::llvm_service::LlvmSession>(
      argc, argv, "Compiles programs with LLVM, one pass at a time, for CompilerGym clients.");
}
