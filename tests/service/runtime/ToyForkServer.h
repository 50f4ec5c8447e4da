// A fork server for the sessions of a test program.
#pragma once

#include <boost/filesystem.hpp>
#include <memory>

#include "compiler_gym/service/runtime/server/isolation/ForkServerProcess.h"
#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"

namespace compiler_gym::runtime {

// Forks toy sessions. main(), which is in ToyForkServer.cc, starts it before there is any thread.
const std::shared_ptr<ForkServerProcess>& toyForkServer();

// The working directory of those sessions. It is removed at the end.
const boost::filesystem::path& toyDirectory();

// No sessions yet, of a service of their own.
std::shared_ptr<RpcHandlers> makeToySessions(const Limits& limits = Limits());

}  // namespace compiler_gym::runtime
