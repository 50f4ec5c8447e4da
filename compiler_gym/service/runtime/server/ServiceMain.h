// The part of a service program that does not depend on the compiler.
#pragma once

#include "compiler_gym/service/runtime/SessionFactory.h"

namespace compiler_gym::runtime {

// Parses the flags, makes the sessions where the flag --isolation says and the service, serves
// until SIGTERM or SIGINT, and cleans up. Use createAndRunCompilerGymService(), which documents the
// arguments and exit codes.
[[nodiscard]] int runServiceMain(int argc, char** argv, const char* usage,
                                 const SessionFactory& makeSession);

}  // namespace compiler_gym::runtime
