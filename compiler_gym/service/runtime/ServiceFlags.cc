#include "compiler_gym/service/runtime/ServiceFlags.h"

#include <gflags/gflags.h>

#include <charconv>
#include <iostream>
#include <system_error>
#include <vector>

#include "compiler_gym/util/Version.h"

DEFINE_string(working_dir, "",
              "Directory for the service's files; made if it does not exist. By default a new "
              "directory among the temporary files, which is removed at exit");
DEFINE_string(port, "0", "Port to listen on; 0 means any free one, see port.txt in --working_dir");
DEFINE_string(host, "127.0.0.1",
              "Interface to listen on. Anybody who can reach it can make the service run commands, "
              "so the default is this machine alone");
DEFINE_string(isolation, "none",
              "How sessions are kept apart. none: all of them run inside the service process");
DEFINE_int32(max_message_bytes, -1, "Largest request and reply in bytes; -1 means no limit");

namespace compiler_gym::runtime {

namespace {

// Whether a flag belongs to gflags or glog rather than to the service.
bool isLibraryFlag(const gflags::CommandLineFlagInfo& flag) {
  // Their Debian packages were compiled as ./src/logging.cc and /build/gflags-.../src/gflags.cc.
  return flag.filename.rfind("./src/", 0) == 0 || flag.filename.find("gflags") != std::string::npos;
}

void printHelp(const std::string& program, const char* usage) {
  std::cout << program << ": " << usage << "\n\nFlags:\n";
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!isLibraryFlag(flag)) std::cout << gflags::DescribeOneFlag(flag);
  }
  std::cout
      << "\nLogging: --alsologtostderr, --v=LEVEL (1: sessions, 2: requests, 3: details), and "
         "others that --helpfull lists\n";
}

std::optional<int> parsePort(const std::string& text) {
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || parsed != end || port < 0 || port > 65535) return std::nullopt;
  return port;
}

std::optional<int> failure(const std::string& message) {
  std::cerr << "ERROR: " << message << std::endl;
  return 1;
}

}  // namespace

std::optional<int> parseServiceFlags(int argc, char** argv, const char* usage,
                                     ServiceFlags* flags) {
  gflags::SetUsageMessage(usage);
  gflags::SetVersionString(util::kVersion);
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, /*remove_flags=*/true);
  if (gflags::GetCommandLineFlagInfoOrDie("help").current_value == "true") {
    printHelp(gflags::ProgramInvocationShortName(), usage);
    return 0;
  }
  gflags::HandleCommandLineHelpFlags();

  if (argc > 1) {
    return failure(std::string("unknown command line argument '") + argv[1] +
                   "'; --help lists the flags");
  }
  const std::optional<int> port = parsePort(FLAGS_port);
  if (!port) {
    return failure("--port must be a number from 0 to 65535, not '" + FLAGS_port + "'");
  }
  if (FLAGS_host.empty()) return failure("--host must be a name or an address, e.g. 127.0.0.1");
  if (FLAGS_isolation != "none") {
    return failure("--isolation must be 'none', not '" + FLAGS_isolation +
                   "': this service runs its sessions inside its own process");
  }
  if (FLAGS_max_message_bytes < -1) {
    return failure("--max_message_bytes must be a number of bytes, or -1 for no limit, not " +
                   std::to_string(FLAGS_max_message_bytes));
  }
  *flags = {FLAGS_working_dir, FLAGS_host, *port, FLAGS_max_message_bytes};
  return std::nullopt;
}

}  // namespace compiler_gym::runtime
