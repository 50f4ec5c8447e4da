// Repeats the history of a session in another one.
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "compiler_gym/service/runtime/server/isolation/SessionProcess.h"
#include "compiler_gym/service/runtime/wire/SessionRecord.h"

namespace compiler_gym::runtime {

// Repeats a history in a new session process: the parameters, and the actions of each step in one
// step. Returns the error of the first request that fails.
grpc::Status repeatHistory(SessionProcess& process, const std::vector<HistoryEntry>& history,
                           Deadline deadline);

}  // namespace compiler_gym::runtime
