#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/costs/ObjectTextParts.h"
#include "llvm_service/observations/Cost.h"

namespace compiler_gym::llvm_service {

namespace {

ObjectTextParts& partsIn(std::any& kept) {
  if (!kept.has_value()) {
    kept = std::make_shared<ObjectTextParts>();
  }
  return *std::any_cast<std::shared_ptr<ObjectTextParts>&>(kept);
}

grpc::Status sizeOfCurrent(const ObservationInput& input, int64_t& value) {
  const std::optional<int64_t> size =
      input.kept == nullptr ? std::nullopt : partsIn(*input.kept).compute(input.compilation);
  if (!size) {
    return objectTextSize(input.compilation.bitcode(), value);
  }
  value = *size;
  return grpc::Status::OK;
}

}  // namespace

/// ObjectTextSizeBytes, ObjectTextSizeO0, ...O3, ...Oz: bytes of code and read-only data of the
/// object file. The module and the baselines are code-generated alike: optimised for size, as
/// `clang -Oz -c` does. ObjectTextSizeOz is what that makes of the source, to within a percent.
/// ObjectTextSizeO0 is the program after the passes of `clang -O0`, which inlines what must be
/// inlined; so is that of any module, as whatever compiles it does that.
Observations objectTextSize() {
  const auto ofBitcode = [](const Compilation&, const std::string& bitcode, int64_t& value) {
    return llvm_service::objectTextSize(bitcode, value);
  };
  return costFamily({"ObjectTextSizeBytes", "ObjectTextSize", /*platformDependent=*/true,
                     /*exports=*/true, /*ofContentAlone=*/true, /*ofCurrent=*/nullptr, ofBitcode,
                     sizeOfCurrent});
}

}  // namespace compiler_gym::llvm_service
