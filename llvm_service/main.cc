#include "compiler_gym/service/runtime/Runtime.h"
#include "llvm_service/LlvmSession.h"

int main(int argc, char** argv) {
  return compiler_gym::runtime::createAndRunCompilerGymService<
      compiler_gym::llvm_service::LlvmSession>(
      argc, argv, "Compiles programs with LLVM, one pass at a time, for CompilerGym clients.");
}
