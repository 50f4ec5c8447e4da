// Sessions in the process of the service.
#pragma once

#include <boost/filesystem.hpp>
#include <memory>

#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/server/rpc/ServedSession.h"

namespace compiler_gym::runtime {

// Makes the backend of a service that runs compilers in its own process, where a crash of one ends
// all sessions and no request can be interrupted. Copies are made by CompilationSession::init().
// Constructs one session, to learn the compiler's version and spaces; exceptions of that leave this
// function.
std::unique_ptr<SessionBackend> makeInProcessBackend(
    SessionFactory makeSession, const boost::filesystem::path& workingDirectory);

}  // namespace compiler_gym::runtime
