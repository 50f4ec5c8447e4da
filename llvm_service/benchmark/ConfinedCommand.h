#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::llvm_service {

/// Runs a command of a benchmark that builds its program, prepares a run, or runs it. The program
/// may be anybody's.
///
/// The program compiler_gym-confine runs /bin/sh with the arguments of the command, joined by
/// blanks. So the command sees the folder, which is all that it may write to, the files and folders
/// that it names by absolute paths, and programs, libraries and headers of the system. It has the
/// variables of the command, PATH, HOME, TMPDIR and LANG, and no network. Where the system lacks
/// some means to confine programs, those that it has are used: see docs/security.md. A command with
/// the variable COMPILER_GYM_CONFINED=no runs with all rights of the service: whoever makes a
/// benchmark may run anything after the run anyway.
///
/// @param command The command. Infiles and outfiles are checked.
/// @param folder The working directory, an absolute path.
/// @param seconds How long the command ran, without the time to set up the confinement.
/// @return INVALID_ARGUMENT if a variable has a name that a shell cannot set; NOT_FOUND if an
/// infile, an outfile or the confining program is missing;
///     DEADLINE_EXCEEDED if the command did not end in its time; RESOURCE_EXHAUSTED if it exceeded
///     another limit; INTERNAL if it failed, with the last part of its standard error.
[[nodiscard]] grpc::Status runConfined(const Command& command,
                                       const boost::filesystem::path& folder, double& seconds);

/// Runs a command of a benchmark with all rights of the service.
///
/// @param command, folder, seconds As of runConfined(); the time includes the start of the shell.
/// @return The errors of LocalShellCommand.
[[nodiscard]] grpc::Status runFreely(const Command& command, const boost::filesystem::path& folder,
                                     double& seconds);

}  // namespace compiler_gym::llvm_service
