#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/observations/Cost.h"
#include "llvm_service/passes/SizeMarks.h"

namespace compiler_gym::llvm_service {

namespace {

// Builds the program in a scratch directory of its own, so that the executable that Runtime
// measures, which is not optimised for size, stays as it is.
grpc::Status builtTextSize(const Compilation& compilation, const std::string& bitcode,
                           int64_t& value) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode, owned));
  markForSize(*owned.module);
  Executable executable(compilation.program().dynamicConfig(), compilation.workingDirectory());
  double seconds = 0;
  RETURN_IF_ERROR(executable.build(writeBitcode(*owned.module), seconds));
  return executable.textSize(value);
}

}  // namespace

/// TextSizeBytes, TextSizeO0, ...O3, ...Oz: bytes of code and read-only data of the program that
/// the benchmark's build command makes. INVALID_ARGUMENT if it has none.
Observations textSize() {
  return costFamily({"TextSizeBytes", "TextSize", /*platformDependent=*/true, /*exports=*/true,
                     /*ofContentAlone=*/false, /*ofCurrent=*/nullptr, builtTextSize});
}

}  // namespace compiler_gym::llvm_service
