// Turns a CompilationSession class into a service program.
#pragma once

#include "compiler_gym/service/runtime/SessionFactory.h"

namespace compiler_gym::runtime {

// Same as the next function, but with a factory of sessions, which is called after the flags were
// parsed. For programs with several classes of sessions, of which a flag chooses one.
[[nodiscard]] int createAndRunCompilerGymService(int argc, char** argv, const char* usage,
                                                 const SessionFactory& makeSession);

// Runs a service for sessions of class `CompilationSessionType` until the process receives SIGTERM
// or SIGINT. It is all that main() needs:
//
//   #include "compiler_gym/service/runtime/Runtime.h"
//   #include "my_compiler/MySession.h"
//
//   int main(int argc, char** argv) {
//     return compiler_gym::runtime::createAndRunCompilerGymService<MySession>(
//         argc, argv, "My compiler as a service.");
//   }
//
// `usage` is the text that --help prints above the flags. Returns the exit code of the process:
//   0  the service was shut down and every session had been ended
//   1  it could not start: bad flag or argument, port in use, directory not writable
//   6  it was shut down while sessions were open
// Call it from the main thread, before any other thread is started.
template <typename CompilationSessionType>
[[nodiscard]] int createAndRunCompilerGymService(int argc, char** argv, const char* usage) {
  return createAndRunCompilerGymService(argc, argv, usage,
                                        makeSessionFactory<CompilationSessionType>());
}

}  // namespace compiler_gym::runtime
