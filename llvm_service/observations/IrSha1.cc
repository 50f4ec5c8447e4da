#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/ModuleSummaryIndex.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

// Five 32-bit words in hexadecimal.
constexpr int64_t kHexDigits = 40;

grpc::Status computeIrSha1(const ObservationInput& input, Event& event) {
  llvm::raw_null_ostream discarded;
  llvm::ModuleHash hash;
  llvm::WriteBitcodeToFile(input.compilation.module(), discarded,
                           /*ShouldPreserveUseListOrder=*/true, /*Index=*/nullptr,
                           /*GenerateHash=*/true, &hash);
  std::string* text = event.mutable_string_value();
  for (const uint32_t word : hash) {
    *text += llvm::utohexstr(word, /*LowerCase=*/true, /*Width=*/8);
  }
  return grpc::Status::OK;
}

}  // namespace

/// IrSha1: the SHA1 that LLVM's bitcode writer computes over the module's bitcode (not over its
/// text), as `opt -module-hash` stores it.
Observations irSha1() {
  return {{fixedTextSpace("IrSha1", kHexDigits), computeIrSha1, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
