#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>

#include "llvm_service/Compilation.h"
#include "llvm_service/actions/Action.h"

namespace compiler_gym::llvm_service {

/// Saves files that show the authors of LLVM the effect of an action on a program:
///   before.bc  the program just before the action
///   start.bc   the program before all actions
///   run.sh     the `opt` of this LLVM with the action on before.bc, and with all actions on
///              start.bc; the second is for an action whose effect depends on analyses that earlier
///              ones have left
///
/// @return INTERNAL if a file cannot be written.
[[nodiscard]] grpc::Status writeReproducer(Compilation& compilation, const Action& action,
                                           const boost::filesystem::path& directory);

}  // namespace compiler_gym::llvm_service
