#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

namespace compiler_gym::llvm_service {

/// The passes of LLVM that are believed when they claim to have preserved all analyses: by their
/// recorded claims, those that have made at least 100,000, of which none was false. The project's
/// own passes are never among them.
///
/// @param recorded what `llvm_service/tools:record_claims` has written.
/// @param version that of the LLVM in use. Passes of another one are not trusted.
llvm::StringSet<> parseTrustedPasses(llvm::StringRef recorded, llvm::StringRef version);

/// Those by the claims in trusted_passes.txt.
const llvm::StringSet<>& trustedPasses();

}  // namespace compiler_gym::llvm_service
