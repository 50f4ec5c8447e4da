#include "llvm_service/confine/Options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "llvm_service/confine/Readable.h"

namespace compiler_gym::confine {

namespace {

// Returns the value if the argument is --NAME=VALUE.
const char* valueOf(const char* argument, const char* name) {
  const size_t size = strlen(name);
  return strncmp(argument, name, size) == 0 && argument[size] == '=' ? argument + size + 1
                                                                     : nullptr;
}

bool parseNumber(const char* argument, Options* options) {
  const struct {
    const char* name;
    uint64_t* number;
  } numbers[] = {{"--cpu", &options->cpuSeconds},       {"--memory", &options->memoryBytes},
                 {"--processes", &options->processes},  {"--file_bytes", &options->fileBytes},
                 {"--disk_bytes", &options->diskBytes}, {"--files", &options->files}};
  for (const auto& each : numbers) {
    if (const char* value = valueOf(argument, each.name)) {
      char* end = nullptr;
      *each.number = strtoull(value, &end, 10);
      return *value != '\0' && *end == '\0';
    }
  }
  return false;
}

bool parseOption(const char* argument, Options* options) {
  if (const char* value = valueOf(argument, "--seconds")) {
    options->seconds = atof(value);
    return options->seconds > 0;
  }
  if (const char* value = valueOf(argument, "--report")) {
    options->report = atoi(value);
    return options->report > 2;
  }
  if (const char* value = valueOf(argument, "--folder")) {
    options->folder.name = value;
    return *value == '/';
  }
  if (const char* value = valueOf(argument, "--read")) {
    if (*value != '/') return false;
    options->readable[options->readableCount++] = {value, nullptr};
    return true;
  }
  const struct {
    const char* name;
    bool* flag;
    bool value;
  } flags[] = {{"--network", &options->network, true},
               {"--any_addresses", &options->limitAddresses, false},
               {"--no_namespaces", &options->namespaces, false},
               {"--no_landlock", &options->landlock, false},
               {"--probe", &options->isProbe, true},
               {"--help", &options->isHelp, true}};
  for (const auto& each : flags) {
    if (strcmp(argument, each.name) == 0) {
      *each.flag = each.value;
      return true;
    }
  }
  return parseNumber(argument, options);
}

}  // namespace

bool parseOptions(int argc, char** argv, Options* options) {
  int next = 1;
  options->readable = static_cast<NamedPath*>(calloc(static_cast<size_t>(argc), sizeof(NamedPath)));
  if (options->readable == nullptr) return false;
  for (; next < argc && strcmp(argv[next], "--") != 0; ++next) {
    if (!parseOption(argv[next], options)) {
      fprintf(stderr, "compiler_gym-confine: expected an option with a valid value, got '%s'\n",
              argv[next]);
      return false;
    }
  }
  options->command = argv + next + 1;
  if (options->isHelp) return true;
  if (options->folder.name == nullptr || (next + 1 >= argc && !options->isProbe)) {
    fprintf(stderr,
            "compiler_gym-confine: expected --folder=PATH and a command after '--'; try "
            "compiler_gym-confine --folder=/tmp/empty -- /bin/true\n");
    return false;
  }
  return true;
}

void printHelp() {
  printf(
      "compiler_gym-confine --folder=PATH [OPTION]... -- PROGRAM [ARGUMENT]...\n\n"
      "Runs a program that may do nothing but compute and write to one folder.\n\n"
      "--folder=PATH  The working directory, and the only one that may be written to.\n"
      "--read=PATH  A file or folder that may be read, besides programs, libraries and headers of\n"
      "  the system. May be repeated.\n%s"
      "--seconds=NUMBER  The limit of the elapsed time. Default: 10.\n"
      "--cpu=NUMBER  The limit of the processor time of each process, in seconds. Default: none.\n"
      "--memory=BYTES, --processes=NUMBER, --disk_bytes=BYTES  Limits of all processes together.\n"
      "--file_bytes=BYTES, --files=NUMBER  Limits of the size and number of open files.\n"
      "--network  Allows the network.\n"
      "--any_addresses  Does not limit addresses, of which sanitizers reserve terabytes.\n"
      "--report=DESCRIPTOR  Writes facts about the run to this open file.\n"
      "--probe  Sets everything up, and runs nothing.\n"
      "--no_namespaces, --no_landlock  Does without means of the system, for tests.\n\n"
      "The variables of the environment are passed on. Input that is a file is copied. The exit\n"
      "status is that of the program.\n",
      kRuleOfReadable);
}

}  // namespace compiler_gym::confine
