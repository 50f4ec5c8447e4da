#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/observations/Cost.h"

namespace compiler_gym::llvm_service {

/// ObjectTextSizeBytes, ObjectTextSizeO0, ...O3, ...Oz: bytes of code and read-only data of the
/// object file. Code is generated for size, as `clang -Oz -c` does, whatever attributes functions
/// have, so agents need not discover these attributes.
///
/// ObjectTextSizeOz and ObjectTextSizeO3 are the sizes of clang's own -Oz -c and -O3 -c of the same
/// program, that of -O3 with code generated for speed. ObjectTextSizeO0 is the size at the start of
/// an episode, after the passes of `clang -O0`, which inline calls that must be inlined. Clang's
/// own -O0 -c would give another size for the same module, since it has a quick code generator.
Observations objectTextSize() {
  const auto ofBitcode = [](const Compilation&, const std::string& bitcode, int64_t& value) {
    return llvm_service::objectTextSize(bitcode, value);
  };
  return costFamily({"ObjectTextSizeBytes", "ObjectTextSize", /*platformDependent=*/true,
                     /*exports=*/true, /*ofContentAlone=*/true, /*ofCurrent=*/nullptr, ofBitcode,
                     objectTextSizeForSpeed});
}

}  // namespace compiler_gym::llvm_service
