#include "compiler_gym/service/runtime/Runtime.h"
#include "mlir_service/MlirSession.h"

int main(int argc, char** argv) {
  return compiler_gym::runtime::createAndRunCompilerGymService<
      compiler_gym::mlir_service::MlirSession>(
      argc, argv, "Transforms loops with MLIR, one pass at a time, for CompilerGym clients.");
}
