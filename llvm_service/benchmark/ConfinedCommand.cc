#include "llvm_service/benchmark/ConfinedCommand.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/Process.h"
#include "compiler_gym/util/Subprocess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"

namespace compiler_gym::llvm_service {

namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;
using util::LocalShellCommand;
using util::ProcessOptions;
using util::ProcessResult;

constexpr char kProgram[] = "compiler_gym-confine";
// Tests, whose program is elsewhere, say where the confining one is.
constexpr char kProgramVariable[] = "COMPILER_GYM_CONFINE";
// A variable of a command that is to have all rights: with the value "no".
constexpr char kConfinedVariable[] = "COMPILER_GYM_CONFINED";
// Means to do without, for tests: see compiler_gym/util/confinement.py.
constexpr char kModesVariable[] = "COMPILER_GYM_CONFINEMENT";

constexpr size_t kMaxReportBytes = 65536;
// The confining program ends soon after the command's time. This is for a machine under load.
constexpr std::chrono::seconds kGrace(20);

// Limits of a command that keep a machine usable, and are no limits for usual programs.
constexpr const char* kLimits[] = {
    "--memory=8589934592",     "--processes=512", "--file_bytes=4294967296",
    "--disk_bytes=8589934592", "--files=1024",    "--any_addresses"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path confiningProgram() {
  const std::string told = variable(kProgramVariable);
  if (!told.empty()) return fs::absolute(told);
  return fs::read_symlink("/proc/self/exe").parent_path() / kProgram;
}

// Adds the path that a word of a shell names: all of it, or behind "=" or the letter of an option.
void addNamed(llvm::StringRef word, std::set<std::string>& paths) {
  const size_t slash = word.find('/');
  if (slash == llvm::StringRef::npos) return;
  if (slash == 0 || word.starts_with("-") || word.take_front(slash).ends_with("=")) {
    paths.insert(word.drop_front(slash).str());
  }
}

// Returns the files and folders that a command names by absolute paths. Some may not exist.
std::set<std::string> namedBy(const Command& command, const std::string& commandline) {
  std::set<std::string> paths;
  for (const std::string& file : command.infile()) {
    if (llvm::StringRef(file).starts_with("/")) paths.insert(file);
  }
  for (const auto& [name, value] : command.env()) {
    if (llvm::StringRef(value).starts_with("/")) paths.insert(value);
  }
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char*, 16> words;
  llvm::cl::TokenizeGNUCommandLine(commandline, saver, words);
  for (const char* word : words) {
    addNamed(word, paths);
    llvm::SmallVector<llvm::StringRef, 4> parts;
    llvm::SplitString(word, parts, "`$();|&<>{}");
    for (const llvm::StringRef part : parts) addNamed(part, paths);
  }
  return paths;
}

// The words of the command line of the confining program, without that of the command.
std::vector<std::string> confinementOf(const Command& command, const LocalShellCommand& shell,
                                       const fs::path& folder) {
  // The program's report is its file 3. Here it takes the place of the command's output, which
  // nobody reads.
  std::vector<std::string> words = {"/bin/sh",
                                    "-c",
                                    R"(exec "$0" "$@" 3>&1 >/dev/null)",
                                    "/usr/bin/env",
                                    "-i",
                                    "PATH=/usr/local/bin:/usr/bin:/bin",
                                    "HOME=" + folder.string(),
                                    "TMPDIR=" + folder.string(),
                                    "LANG=C.UTF-8",
                                    confiningProgram().string(),
                                    "--report=3"};
  words.push_back("--folder=" + fs::absolute(folder).string());
  words.push_back("--seconds=" + std::to_string(shell.timeoutSeconds()));
  words.insert(words.end(), std::begin(kLimits), std::end(kLimits));
  for (const std::string& path : namedBy(command, shell.commandline())) {
    words.push_back("--read=" + path);
  }
  llvm::SmallVector<llvm::StringRef, 2> modes;
  const std::string told = variable(kModesVariable);
  llvm::SplitString(told, modes);
  for (const llvm::StringRef mode : modes) {
    std::string flag = "--" + mode.str();
    std::replace(flag.begin() + 2, flag.end(), '-', '_');
    words.push_back(flag);
  }
  return words;
}

// Returns commands for a shell that set the variables. The confining program does not get them: it
// would load a library that a variable names, without confinement.
std::string exportsOf(const Command& command) {
  const std::map<std::string, std::string> sorted(command.env().begin(), command.env().end());
  std::string exports;
  for (const auto& [name, value] : sorted) {
    exports += "export " + name + "=" + util::quotedForShell(value) + "; ";
  }
  return exports;
}

// Checks that the names of variables are those of a shell.
Status checkVariables(const Command& command) {
  for (const auto& [name, value] : command.env()) {
    const bool isName = !name.empty() && !llvm::isDigit(name[0]) &&
                        llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isName) {
      return {
          StatusCode::INVALID_ARGUMENT,
          "expected an environment variable of letters, digits and \"_\", got \"" + name + "\""};
    }
  }
  return Status::OK;
}

ProcessOptions optionsOf(const Command& command, const LocalShellCommand& shell,
                         const fs::path& folder) {
  ProcessOptions options;
  options.arguments = confinementOf(command, shell, folder);
  options.arguments.insert(options.arguments.end(),
                           {"--", "/bin/sh", "-c", exportsOf(command) + shell.commandline()});
  options.timeout = shell.timeout() + kGrace;
  options.captureOutput = true;
  options.maxOutputBytes = kMaxReportBytes;
  return options;
}

// The facts about a run by their names, such as "limit".
std::map<std::string, std::string> factsIn(const std::string& report) {
  std::map<std::string, std::string> facts;
  llvm::SmallVector<llvm::StringRef, 8> lines;
  llvm::StringRef(report).split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (const llvm::StringRef line : lines) {
    const auto [name, value] = line.split(' ');
    facts[name.str()] = value.str();
  }
  return facts;
}

Status limitStatus(const std::string& limit, const LocalShellCommand& shell) {
  if (limit == "time") {
    return {StatusCode::DEADLINE_EXCEEDED, "Command did not end within " +
                                               std::to_string(shell.timeoutSeconds()) +
                                               " seconds and was killed: " + shell.summary()};
  }
  static const std::map<std::string, std::string> kReasons = {
      {"memory", "it needed more than 8 GiB of memory"},
      {"processes", "it started more than 512 processes"},
      {"disk", "it wrote more than 8 GiB"},
  };
  const auto reason = kReasons.find(limit);
  return {
      StatusCode::RESOURCE_EXHAUSTED,
      "Command was killed because " +
          (reason == kReasons.end() ? "it exceeded the limit \"" + limit + "\"" : reason->second) +
          ": " + shell.summary()};
}

Status errorStatus(const std::string& error, const LocalShellCommand& shell) {
  const auto [number, step] = llvm::StringRef(error).split(' ');
  int code = 0;
  const std::string reason =
      number.getAsInteger(10, code) ? error : std::generic_category().message(code);
  return {StatusCode::INTERNAL,
          "Cannot confine a command: " + step.str() + ": " + reason + ": " + shell.summary()};
}

Status statusOf(const ProcessResult& result, const LocalShellCommand& shell, double& seconds) {
  const std::map<std::string, std::string> facts = factsIn(result.output);
  if (const auto error = facts.find("error"); error != facts.end()) {
    return errorStatus(error->second, shell);
  }
  if (const auto limit = facts.find("limit"); limit != facts.end()) {
    return limitStatus(limit->second, shell);
  }
  const auto time = facts.find("seconds");
  if (time == facts.end()) {
    return {StatusCode::INTERNAL, "The program that confines commands has failed: " +
                                      result.errorTail + ": " + shell.summary()};
  }
  seconds = std::strtod(time->second.c_str(), nullptr);
  ProcessResult end = result;
  end.end = ProcessResult::End::kExited;
  if (const auto signal = facts.find("signal"); signal != facts.end()) {
    end.end = ProcessResult::End::kSignalled;
    end.code = std::atoi(signal->second.c_str());
  }
  return shell.statusOf(end);
}

}  // namespace

Status runFreely(const Command& command, const fs::path& folder, double& seconds) {
  const LocalShellCommand shell(command);
  RETURN_IF_ERROR(shell.checkInfiles(folder));
  std::chrono::duration<double> wallTime{0};
  RETURN_IF_ERROR(shell.measure(wallTime, folder));
  seconds = wallTime.count();
  return shell.checkOutfiles(folder);
}

Status runConfined(const Command& command, const fs::path& folder, double& seconds) {
  const auto told = command.env().find(kConfinedVariable);
  if (told != command.env().end() && told->second == "no") {
    return runFreely(command, folder, seconds);
  }
  const LocalShellCommand shell(command);
  RETURN_IF_ERROR(shell.checkInfiles(folder));
  RETURN_IF_ERROR(checkVariables(command));
  const fs::path program = confiningProgram();
  if (!fs::exists(program)) {
    return {StatusCode::NOT_FOUND, "There is no " + program.string() +
                                       ", which confines the programs of benchmarks. Install the "
                                       "package again"};
  }
  ProcessResult result;
  RETURN_IF_ERROR(util::runProcess(optionsOf(command, shell, folder), &result));
  RETURN_IF_ERROR(statusOf(result, shell, seconds));
  return shell.checkOutfiles(folder);
}

}  // namespace compiler_gym::llvm_service
