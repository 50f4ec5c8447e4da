// Says how a session process has ended.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/SessionRecord.h"

namespace compiler_gym::runtime {

// What is left to say of a session process.
struct Epitaph {
  // What its requests fail with from now on, see SessionProcess.
  grpc::Status status;
  // Whether the end is nothing that the compiler has done.
  bool wasLost = false;
  // If it had used nearly all memory that it may have, this says so.
  std::string memoryNote;
};

// What the service knows of the end of a session process beside its record.
struct End {
  // Whether the process had introduced itself.
  bool wasMet = false;
  // Whether it had ended before it was killed by the service to be sure.
  bool hadEnded = false;
  // How it ended, if the fork server has told.
  std::optional<Death> death;
  // Whether the fork server had ended, with which all session processes end.
  bool forkServerHasEnded = false;
  // The memory that it might have, in bytes; 0 means no limit.
  uint64_t memoryLimit = 0;
};

Epitaph writeEpitaph(const SessionRecord& record, const End& end);

}  // namespace compiler_gym::runtime
