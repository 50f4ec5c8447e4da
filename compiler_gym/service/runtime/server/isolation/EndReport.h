// Reports on the ends of workers.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"

namespace compiler_gym::runtime {

// The report on the end of a worker.
struct EndReport {
  // The error of its further requests, see Worker.
  grpc::Status status;
  // True if the compiler did not cause the end.
  bool wasLost = false;
  // A note if the process had used nearly all of its memory limit.
  std::string memoryNote;
};

// Facts about the end of a worker that its record does not contain.
struct EndFacts {
  // True if the process had reported that it is ready.
  bool wasReady = false;
  // True if it was to be a copy of another session.
  bool isCopy = false;
  // True if it had ended before the service killed it as a precaution.
  bool hadEnded = false;
  // Its exit status, if the fork server reported it.
  std::optional<Death> death;
  // True if the fork server had ended, which ends all workers.
  bool forkServerHasEnded = false;
  // The memory limit in bytes; 0 means no limit.
  uint64_t memoryLimit = 0;
};

// Says how a worker ended, in what activity, and what it has printed last.
EndReport reportEnd(const WorkerRecord& record, const EndFacts& facts);

}  // namespace compiler_gym::runtime
