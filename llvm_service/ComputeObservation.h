#pragma once

namespace compiler_gym::llvm_service {

/// Prints one observation of a program as a protobuf message in text format.
///
/// @param argc the number of arguments.
/// @param argv the name of the program, flags, the name of the observation space and the file.
/// @return the exit code: 0, 1 for a wrong flag, 2 for another wrong argument, or 3 if the
///     observation cannot be computed. The reason is then on the standard error output.
int printObservation(int argc, char** argv);

}  // namespace compiler_gym::llvm_service
