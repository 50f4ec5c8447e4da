// The command line of a service program.
#pragma once

#include <optional>
#include <string>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/service/runtime/server/access/Access.h"

namespace compiler_gym::runtime {

// The settings that the flags select.
struct ServiceFlags {
  // Empty: a new directory that lives as long as the service.
  std::string workingDirectory;
  // Name or address of the interface to listen on.
  std::string host;
  // 0 to 65535; 0 means any free port.
  int port = 0;
  // Limit of a request and of a reply; -1 means none.
  int maxMessageBytes = -1;
  // Access control for TCP connections.
  AccessFlags access;
  Limits limits;
};

// Parses the command line into `flags`. `usage` is printed by --help. Returns the exit code if the
// process has nothing more to do: 0 after printing help, 1 after an error message on stderr.
// Unknown flags and values of the wrong type end the process with exit code 1.
[[nodiscard]] std::optional<int> parseServiceFlags(int argc, char** argv, const char* usage,
                                                   ServiceFlags* flags);

}  // namespace compiler_gym::runtime
