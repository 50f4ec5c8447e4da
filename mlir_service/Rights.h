#pragma once

#include <grpcpp/support/status.h>

namespace compiler_gym::mlir_service {

/// Gives up all rights of this process but those to compute, to have memory of its own, to write to
/// one file and to end. The code of a kernel may be anybody's: it can write anywhere in this
/// process, and call any function that is there.
///
/// All memory that is shared with other processes is gone afterwards.
///
/// @param output The file that may be written to, and not read.
/// @return FAILED_PRECONDITION if the system has no filters of system calls.
[[nodiscard]] grpc::Status giveUpRights(int output);

}  // namespace compiler_gym::mlir_service
