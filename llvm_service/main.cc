#include <unistd.h>

#include <algorithm>
#include <boost/filesystem.hpp>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "compiler_gym/service/runtime/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm_service/ComputeObservation.h"
#include "llvm_service/Flags.h"
#include "llvm_service/LlvmSession.h"

namespace {

/// Handles failed allocations of LLVM like those of `new`: the runtime ends the session.
void onBadAlloc(void* /*data*/, const char* /*reason*/, bool /*crashDiagnostics*/) {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  std::abort();
}

/// The first argument with which the program prints one observation rather than serving clients.
constexpr char kComputeObservation[] = "compute_observation";

constexpr char kPluginFlag[] = "load-pass-plugin";

/// Returns the arguments with all --load-pass-plugin=X joined into one, with semicolons between the
/// values. gflags would keep only the last.
std::vector<std::string> joinPluginFlags(llvm::ArrayRef<char*> arguments) {
  std::vector<std::string> joined;
  std::string plugins;
  for (const char* text : arguments) {
    llvm::StringRef argument = text;
    llvm::StringRef name = argument.split('=').first;
    std::string spelled = name.ltrim('-').str();
    std::replace(spelled.begin(), spelled.end(), '_', '-');
    if (name.starts_with("-") && argument.contains('=') && spelled == kPluginFlag) {
      plugins += (plugins.empty() ? "" : ";") + argument.split('=').second.str();
    } else {
      joined.push_back(argument.str());
    }
  }
  if (!plugins.empty()) {
    joined.insert(joined.begin() + 1, "--load_pass_plugin=" + plugins);
  }
  return joined;
}

/// True if there may be plugins to load. Flags from files or the environment may name them, too.
bool mayLoadPlugins(llvm::ArrayRef<std::string> arguments) {
  return llvm::any_of(arguments.drop_front(), [](llvm::StringRef argument) {
    llvm::StringRef name = argument.split('=').first.ltrim('-');
    return name == "load_pass_plugin" || name == kPluginFlag || name == "flagfile" ||
           name == "fromenv" || name == "tryfromenv";
  });
}

/// Replaces this program by the one that is linked with the shared library of LLVM, to which
/// plugins refer. In any other program they would find another LLVM, or none.
///
/// @return only if this is that program, or if there is an error, which has been printed.
bool becomeSharedProgram(const std::vector<char*>& arguments) {
  const boost::filesystem::path self = boost::filesystem::read_symlink("/proc/self/exe");
  const std::string name = "compiler_gym-llvm-service-shared";
  if (self.filename() == name) return true;
  std::vector<boost::filesystem::path> folders = {self.parent_path()};
  // The package compiler_gym_clang has LLVM's shared library.
  if (const char* prefix = std::getenv("COMPILER_GYM_LLVM")) folders.emplace_back(prefix) /= "bin";
  for (const boost::filesystem::path& folder : folders) {
    execv((folder / name).c_str(), arguments.data());
  }
  std::cerr << "Pass plugins need the program " << name
            << ", which cannot be run: " << std::generic_category().message(errno)
            << ". Install it with \"pip install 'compiler_gym[clang]'\"\n";
  return false;
}

using compiler_gym::CompilationSession;

/// A session of the game that the flag chooses.
std::unique_ptr<CompilationSession> makeSession(const boost::filesystem::path& workingDirectory) {
  using compiler_gym::llvm_service::LlvmSession;
  const auto rules = compiler_gym::llvm_service::findGame(FLAGS_game);
  return std::make_unique<LlvmSession>(workingDirectory, rules());
}

}  // namespace

int main(int argc, char** argv) {
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  if (argc > 1 && argv[1] == llvm::StringRef(kComputeObservation)) {
    return compiler_gym::llvm_service::printObservation(argc - 1, argv + 1);
  }
  std::vector<std::string> arguments = joinPluginFlags({argv, static_cast<size_t>(argc)});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  if (mayLoadPlugins(arguments) && !becomeSharedProgram(pointers)) return EXIT_FAILURE;
  return compiler_gym::runtime::createAndRunCompilerGymService(
      static_cast<int>(arguments.size()), pointers.data(),
      "Compiles programs with LLVM, one decision at a time, for CompilerGym clients.", makeSession);
}
