// Reports on the ends of session processes.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/SessionRecord.h"

namespace compiler_gym::runtime {

// The report on the end of a session process.
struct Epitaph {
  // The error of its further requests, see SessionProcess.
  grpc::Status status;
  // True if the compiler did not cause the end.
  bool wasLost = false;
  // A note if the process had used nearly all of its memory limit.
  std::string memoryNote;
};

// Facts about the end of a session process that its record does not contain.
struct End {
  // True if the process had introduced itself.
  bool wasMet = false;
  // True if it was to be a copy of another session.
  bool isCopy = false;
  // True if it had ended before the service killed it as a precaution.
  bool hadEnded = false;
  // Its exit status, if the fork server reported it.
  std::optional<Death> death;
  // True if the fork server had ended, which ends all session processes.
  bool forkServerHasEnded = false;
  // The memory limit in bytes; 0 means no limit.
  uint64_t memoryLimit = 0;
};

Epitaph writeEpitaph(const SessionRecord& record, const End& end);

}  // namespace compiler_gym::runtime
