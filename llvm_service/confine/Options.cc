#include "llvm_service/confine/Options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

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
    options->folder = value;
    return *value == '/';
  }
  if (const char* value = valueOf(argument, "--read")) {
    if (*value != '/' || options->readableCount == kMaxReadable) return false;
    options->readable[options->readableCount++] = value;
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
               {"--probe", &options->isProbe, true}};
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
  for (; next < argc && strcmp(argv[next], "--") != 0; ++next) {
    if (!parseOption(argv[next], options)) {
      fprintf(stderr, "compiler_gym-confine: expected an option with a valid value, got '%s'\n",
              argv[next]);
      return false;
    }
  }
  options->command = argv + next + 1;
  if (options->folder == nullptr || (next + 1 >= argc && !options->isProbe)) {
    fprintf(stderr,
            "compiler_gym-confine: expected --folder=PATH and a command after '--'; try "
            "compiler_gym-confine --folder=/tmp/empty -- /bin/true\n");
    return false;
  }
  return true;
}

}  // namespace compiler_gym::confine
