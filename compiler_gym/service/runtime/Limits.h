// Resource limits of sessions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace compiler_gym::runtime {

// The limits of a service.
struct Limits {
  // Maximum number of open sessions.
  int maxSessions = 1000;
  // Idle time after which a session without a lease is ended; 0 means never.
  std::chrono::seconds sessionIdle{24 * 3600};
  // Maximum size of a message on the direct channel.
  size_t maxMessageBytes = size_t{1} << 30;
  // Timeout of requests whose client sets none; 0 means no limit.
  std::chrono::seconds requestTimeout{300};
  // Maximum writable memory of a worker; 0 means no limit.
  uint64_t sessionMemoryBytes = uint64_t{4} << 30;
  // Maximum memory of all pristine sessions together.
  size_t pristineBytes = size_t{1} << 30;
  // Maximum number of pristine sessions: each is a process, with some open files of the service.
  int maxPristine = 256;
  // Maximum number of session copies that are made ahead of time.
  int maxSpares = 8;
  // Maximum number of reproducers saved during the life of the service.
  int maxReproducers = 32;
  // Sessions that have ended before new ones get large pages of code; see ForkServer.
  int sessionsBeforeLargePages = 300;
  // Run one session at a time, in the process that the user has started, for use with a
  // debugger; see ForkServerProcess.
  bool isForeground = false;
};

}  // namespace compiler_gym::runtime
