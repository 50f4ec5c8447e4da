// Repeats the history of a session in another one.
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "compiler_gym/service/runtime/server/isolation/Worker.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"

namespace compiler_gym::runtime {

// Repeats a history in a new worker: the parameters, and the actions of each step in one step.
// Returns the error of the first request that fails.
grpc::Status repeatHistory(Worker& process, const std::vector<HistoryEntry>& history,
                           Deadline deadline);

}  // namespace compiler_gym::runtime
