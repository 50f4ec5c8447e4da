#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/observations/Cost.h"

namespace compiler_gym::llvm_service {

/// ObjectTextSizeBytes, ObjectTextSizeO0, ...O3, ...Oz: bytes of code and read-only data of the
/// object file. The module and the baselines are code-generated alike: optimised for size, as
/// `clang -Oz -c` does. ObjectTextSizeOz is what that makes of the source, to within a percent.
Observations objectTextSize() {
  const auto ofBitcode = [](const Compilation&, const std::string& bitcode, int64_t& value) {
    return llvm_service::objectTextSize(bitcode, value);
  };
  return costFamily({"ObjectTextSizeBytes", "ObjectTextSize", /*platformDependent=*/true,
                     /*exports=*/true, /*ofCurrent=*/nullptr, ofBitcode});
}

}  // namespace compiler_gym::llvm_service
