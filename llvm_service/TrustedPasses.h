#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

namespace compiler_gym::llvm_service {

/// Returns the passes of LLVM whose claim to have preserved all analyses is trusted: those with at
/// least 100,000 recorded claims, none of which was false. The project's own passes are never among
/// them.
///
/// @param recorded the output of `llvm_service/tools:record_claims`.
/// @param version the version of the LLVM in use. Passes of another version are not trusted.
llvm::StringSet<> parseTrustedPasses(llvm::StringRef recorded, llvm::StringRef version);

/// Returns the trusted passes by the claims in trusted_passes.txt.
const llvm::StringSet<>& trustedPasses();

}  // namespace compiler_gym::llvm_service
