// The first messages from the process with the compiler to the service.
#pragma once

#include <boost/filesystem.hpp>

#include "compiler_gym/service/runtime/SessionFactory.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"

namespace compiler_gym::runtime {

// Describes the sessions, and sends the replies to GetVersion and GetSpaces, or a single reply with
// an error. False if sessions cannot be made.
bool sendDescription(const SessionFactory& makeSession,
                     const boost::filesystem::path& workingDirectory, Channel& service,
                     ServiceDescription* description);

}  // namespace compiler_gym::runtime
