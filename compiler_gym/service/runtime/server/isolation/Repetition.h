// Does again with a session what was done with another one.
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "compiler_gym/service/runtime/server/isolation/SessionProcess.h"
#include "compiler_gym/service/runtime/wire/SessionRecord.h"

namespace compiler_gym::runtime {

// Makes the requests of a history of a session process that has just been started: the parameters,
// and the actions of each step in a step. The error is that of the first request that fails.
grpc::Status repeatHistory(SessionProcess& process, const std::vector<HistoryEntry>& history,
                           Deadline deadline);

}  // namespace compiler_gym::runtime
