#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/observations/Cost.h"

namespace compiler_gym::llvm_service {

/// IrInstructionCount, IrInstructionCountO0, ...O3, ...Oz: the number of IR instructions.
Observations irInstructionCount() {
  const auto ofCurrent = [](Compilation& compilation, int64_t& value) {
    value = static_cast<int64_t>(compilation.instructionCount());
    return grpc::Status::OK;
  };
  const auto ofBitcode = [](const Compilation&, const std::string& bitcode, int64_t& value) {
    OwnedModule owned;
    RETURN_IF_ERROR(parseIr(bitcode, owned));
    value = owned.module->getInstructionCount();
    return grpc::Status::OK;
  };
  return costFamily({"IrInstructionCount", "IrInstructionCount", /*platformDependent=*/false,
                     /*exports=*/false, /*ofContentAlone=*/true, ofCurrent, ofBitcode});
}

}  // namespace compiler_gym::llvm_service
