#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/costs/Cycles.h"
#include "llvm_service/observations/Cost.h"

namespace compiler_gym::llvm_service {

/// CyclesEstimate, CyclesEstimateO0, ...O3, ...Oz: a static estimate of the cycles of one run of
/// the program on the generic processor of its target; Cycles.h says how. It does not depend on the
/// machine of the service.
Observations cyclesEstimate() {
  const auto ofCurrent = [](Compilation& compilation, int64_t& value) {
    value = llvm_service::cyclesEstimate(compilation.module());
    return grpc::Status::OK;
  };
  const auto ofBitcode = [](const Compilation&, const std::string& bitcode, int64_t& value) {
    OwnedModule owned;
    RETURN_IF_ERROR(parseIr(bitcode, owned));
    value = llvm_service::cyclesEstimate(*owned.module);
    return grpc::Status::OK;
  };
  return costFamily({"CyclesEstimate", "CyclesEstimate", /*platformDependent=*/false,
                     /*exports=*/false, /*ofContentAlone=*/true, ofCurrent, ofBitcode});
}

}  // namespace compiler_gym::llvm_service
