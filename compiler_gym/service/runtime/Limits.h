// What sessions may use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace compiler_gym::runtime {

// The limits of a service.
struct Limits {
  // Number of sessions open at a time.
  int maxSessions = 1000;
  // A session without a lease is ended after so long without a request; 0 means never.
  std::chrono::seconds sessionIdle{24 * 3600};
  // Size of a message on the direct channel.
  size_t maxMessageBytes = size_t{1} << 30;
  // The time for a request whose client sets none; 0 means no limit.
  std::chrono::seconds requestTimeout{300};
  // Writable memory of a session process; 0 means no limit.
  uint64_t sessionMemoryBytes = uint64_t{4} << 30;
  // Memory of all pristine sessions together.
  size_t pristineBytes = size_t{1} << 30;
  // Number of pristine sessions: each is a process, with some open files of the service.
  int maxPristine = 256;
  // How many copies of sessions may be made ahead of time.
  int maxSpares = 8;
  // How many reproducers may be saved in the life of the service.
  int maxReproducers = 32;
  // Whether there is one session at a time, in the process that the user has started, for a
  // debugger; see ForkServerProcess.
  bool isForeground = false;
};

}  // namespace compiler_gym::runtime
