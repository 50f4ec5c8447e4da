// A session in the process that the user has started, for a debugger.
#pragma once

#include <sys/types.h>

#include <boost/filesystem.hpp>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

// Does the work of the fork server without forking: serves one session after the other in this
// process, until the process of the service, its child, has ended; then ends with that one's exit
// code. SIGTERM and SIGINT are passed on to the service. First sends what runForkServer() sends.
[[noreturn]] void runInForeground(const SessionFactory& makeSession,
                                  const boost::filesystem::path& workingDirectory,
                                  const Limits& limits, pid_t servicePid, Channel service);

}  // namespace compiler_gym::runtime
