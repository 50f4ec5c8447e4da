// The main function of the fork server.
#pragma once

#include <boost/filesystem.hpp>
#include <functional>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/wire/Channel.h"

namespace compiler_gym::runtime {

// Runs the fork server in this process, which was just forked from the service's, until the service
// ends; see ForkServerProcess. First sends the replies to GetVersion and GetSpaces, or a single
// reply with an error.
[[noreturn]] void runForkServer(const SessionFactory& makeSession,
                                const boost::filesystem::path& workingDirectory,
                                const Limits& limits, const std::function<void()>& removeDirectory,
                                Channel service);

}  // namespace compiler_gym::runtime
