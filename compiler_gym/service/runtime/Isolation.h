// How sessions are kept apart.
#pragma once

#include <boost/filesystem.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "compiler_gym/service/CompilationSession.h"

namespace compiler_gym::runtime {

// Makes a session that uses this working directory.
using SessionFactory =
    std::function<std::unique_ptr<CompilationSession>(const boost::filesystem::path&)>;

// The limits of a service whose sessions are processes.
struct IsolationLimits {
  // The time for a request whose client sets none.
  std::chrono::seconds requestTimeout{300};
  // Writable memory of a session process; 0 means no limit.
  uint64_t sessionMemoryBytes = uint64_t{4} << 30;
  // Number of sessions open at a time.
  int maxSessions = 1000;
  // Memory of all pristine sessions together.
  size_t pristineBytes = size_t{1} << 30;
  // How many copies of sessions may be made ahead of time.
  int maxSpares = 8;
  // How many reproducers may be saved in the life of the service.
  int maxReproducers = 32;
  // Size of a message on the direct channel.
  size_t maxMessageBytes = size_t{1} << 30;
};

}  // namespace compiler_gym::runtime
