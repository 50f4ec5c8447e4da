#include "compiler_gym/service/runtime/server/ServiceFlags.h"

#include <gflags/gflags.h>

#include <charconv>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/Limits.h"
#include "compiler_gym/util/Version.h"

DEFINE_string(working_dir, "",
              "Directory for the service's files; made if it does not exist. By default a new "
              "directory among the temporary files, which is removed at exit");
DEFINE_string(port, "0", "Port to listen on; 0 means any free one, see port.txt in --working_dir");
DEFINE_string(host, "127.0.0.1",
              "Interface to listen on. Clients can make the service run commands. So by default "
              "only this machine can reach it, and only processes of the same user may connect. "
              "Any other interface needs --token_file, --tls_client_ca or --insecure");
DEFINE_string(token_file, "",
              "File with a secret that clients have to send, by TCP from anywhere, as metadata "
              "'authorization: Bearer TOKEN'. At least 16 characters, readable only by this user");
DEFINE_string(tls_certificate, "",
              "File with the service's certificate, in PEM format. Connections by TCP are "
              "encrypted then. Needs --tls_key");
DEFINE_string(tls_key, "",
              "File with the key of --tls_certificate, in PEM format. Readable only by this user");
DEFINE_string(tls_client_ca, "",
              "File with certificates, in PEM format, one of which must have signed that of a "
              "client. Clients without are refused. Needs --tls_certificate");
DEFINE_bool(insecure, false,
            "Let anybody who can reach --host use the service, and so run commands as the user "
            "who runs it");
DEFINE_bool(foreground, false,
            "Run one session at a time, in this very process, where a debugger finds it. No other "
            "session can be started or forked meanwhile");
DEFINE_string(isolation, "process",
              "'process', which is the only value: each session is a process, so nothing that a "
              "compiler does can hurt another session. To debug a compiler, use --foreground");
DEFINE_int32(max_message_bytes, 1 << 30, "Largest request and reply in bytes; -1 means no limit");
DEFINE_int32(max_sessions, 1000, "Number of sessions that may be open at a time");
DEFINE_int32(session_idle_seconds, 24 * 3600,
             "A session that has had no request for so long is ended, unless its client holds a "
             "lease, as the Python package does: those sessions end with their client. 0 means "
             "never");

DEFINE_int32(session_memory_mib, 4096,
             "Memory that the process of a session may write to; a session that needs more is "
             "ended. 0 means no limit");
DEFINE_int32(request_timeout_seconds, 300,
             "Time for a request whose client sets no time limit; a session that needs more is "
             "ended. 0 means no limit");
DEFINE_int32(pristine_sessions_mib, 1024,
             "Memory for sessions that are kept to start others on the same program quickly");
DEFINE_int32(max_pristine_sessions, 256,
             "Number of sessions that are kept to start others on the same program quickly");
DEFINE_int32(spare_sessions, 8,
             "How many copies of sessions may be made before they are asked for");
DEFINE_int32(sessions_before_large_pages, 300,
             "After so many sessions, code moves to large pages of memory, if there is plenty of "
             "it. Steps of later sessions are quicker. 0 means never");
DEFINE_int32(max_reproducers, 32,
             "How many reproducers of crashes to save into --working_dir/reproducers");

namespace compiler_gym::runtime {

namespace {

// True if a flag belongs to gflags or glog rather than to the service.
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

// Returns the name of the first flag that is negative although it must not be.
std::optional<std::string> findNegativeLimit() {
  const std::pair<const char*, int> limits[] = {
      {"max_sessions", FLAGS_max_sessions},
      {"session_idle_seconds", FLAGS_session_idle_seconds},
      {"session_memory_mib", FLAGS_session_memory_mib},
      {"request_timeout_seconds", FLAGS_request_timeout_seconds},
      {"pristine_sessions_mib", FLAGS_pristine_sessions_mib},
      {"max_pristine_sessions", FLAGS_max_pristine_sessions},
      {"spare_sessions", FLAGS_spare_sessions},
      {"sessions_before_large_pages", FLAGS_sessions_before_large_pages},
      {"max_reproducers", FLAGS_max_reproducers}};
  for (const auto& [name, value] : limits) {
    if (value < 0) return name;
  }
  return std::nullopt;
}

Limits limitsOfFlags() {
  Limits limits;
  limits.maxSessions = FLAGS_max_sessions;
  limits.sessionIdle = std::chrono::seconds(FLAGS_session_idle_seconds);
  limits.sessionMemoryBytes = static_cast<uint64_t>(FLAGS_session_memory_mib) << 20;
  limits.requestTimeout = std::chrono::seconds(FLAGS_request_timeout_seconds);
  limits.pristineBytes = static_cast<size_t>(FLAGS_pristine_sessions_mib) << 20;
  limits.maxPristine = FLAGS_max_pristine_sessions;
  limits.maxSpares = FLAGS_spare_sessions;
  limits.sessionsBeforeLargePages = FLAGS_sessions_before_large_pages;
  limits.maxReproducers = FLAGS_max_reproducers;
  if (FLAGS_max_message_bytes >= 0) {
    limits.maxMessageBytes = static_cast<size_t>(FLAGS_max_message_bytes);
  } else {
    limits.maxMessageBytes = INT32_MAX;
  }
  limits.isForeground = FLAGS_foreground;
  if (FLAGS_foreground) {
    limits.maxSessions = 1;
    limits.sessionMemoryBytes = 0;
  }
  return limits;
}

AccessFlags accessOfFlags() {
  return {FLAGS_tls_certificate, FLAGS_tls_key, FLAGS_tls_client_ca, FLAGS_token_file,
          FLAGS_insecure};
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
    return failure("expected a number from 0 to 65535 as --port, got '" + FLAGS_port + "'");
  }
  if (FLAGS_host.empty()) return failure("--host must be a name or an address, e.g. 127.0.0.1");
  if (FLAGS_isolation != "process") {
    return failure("expected --isolation=process, got --isolation=" + FLAGS_isolation +
                   ": each session is a process now. To debug a compiler in the process that you "
                   "start, use --foreground instead (docs/contributing/debugging.md)");
  }
  if (FLAGS_max_message_bytes < -1) {
    return failure("expected a number of bytes, or -1 for no limit, as --max_message_bytes, got " +
                   std::to_string(FLAGS_max_message_bytes));
  }
  if (const auto problem = findNegativeLimit()) {
    return failure("--" + *problem + " must not be negative");
  }
  *flags = {FLAGS_working_dir,       FLAGS_host,      *port,
            FLAGS_max_message_bytes, accessOfFlags(), limitsOfFlags()};
  return std::nullopt;
}

}  // namespace compiler_gym::runtime
