// Sessions as processes.
#pragma once

#include <boost/filesystem.hpp>
#include <memory>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/rpc/ServedSession.h"

namespace compiler_gym::runtime {

// Makes the backend of a service each of whose sessions is a process, so that no code of the
// compiler runs in that of the service. A session whose process has died answers every request with
// the reason, see SessionProcess, until it is ended. `forkServer` must outlive the backend.
std::unique_ptr<SessionBackend> makeIsolatedBackend(ForkServerProcess& forkServer,
                                                    const boost::filesystem::path& workingDirectory,
                                                    const Limits& limits);

}  // namespace compiler_gym::runtime
