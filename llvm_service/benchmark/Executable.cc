#include "llvm_service/benchmark/Executable.h"

#include <unistd.h>

#include <cstdlib>

#include "compiler_gym/util/FolderRemoval.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm_service/benchmark/ConfinedCommand.h"
#include "llvm_service/benchmark/CpuPin.h"
#include "llvm_service/benchmark/Files.h"
#include "llvm_service/costs/CodeSize.h"

namespace compiler_gym::llvm_service {

namespace {

namespace fs = boost::filesystem;
using grpc::Status;
using grpc::StatusCode;

// The file names that build commands use.
constexpr char kBitcodeName[] = "out.bc";
constexpr char kDefaultOutputName[] = "a.out";
/// Returns the folder of the LLVM that the client has named or, by default, that the service is
/// built with.
std::string llvmPrefix() {
  const char* prefix = std::getenv("COMPILER_GYM_LLVM");
  const bool isTold = prefix != nullptr && *prefix != '\0';
  return isTold ? prefix : COMPILER_GYM_LLVM_PREFIX;
}

bool usesClang(const Command& command) {
  return llvm::any_of(command.argument(), [](llvm::StringRef argument) {
    return argument.contains("$CC") || argument.contains("${CC");
  });
}

template <typename Commands, typename Run>
Status runAll(const Commands& commands, const fs::path& directory, Run run) {
  double seconds = 0;
  for (const Command& command : commands) {
    RETURN_IF_ERROR(run(command, directory, seconds));
  }
  return Status::OK;
}

}  // namespace

Executable::Executable(BenchmarkDynamicConfig config, fs::path parent)
    : config_(std::move(config)), parent_(std::move(parent)) {}

Executable::~Executable() {
  if (isBuilt()) util::removeFolder(scratch_);  // A destructor cannot report errors.
}

bool Executable::isBuilt() const { return !scratch_.empty(); }

bool Executable::isBuildable() const { return config_.build_cmd().argument_size() > 0; }

bool Executable::isRunnable() const {
  return isBuildable() && config_.run_cmd().argument_size() > 0;
}

Status Executable::makeScratchDirectory() {
  if (isBuilt()) {
    return Status::OK;
  }
  // The service removes it if this process cannot, see CompilationSession.
  const fs::path directory = uniquePath(parent_, "build-%%%%%%%%." + std::to_string(getpid()));
  boost::system::error_code error;
  fs::create_directories(directory, error);
  if (!error) {
    fs::permissions(directory, fs::owner_all, error);
  }
  if (error) {
    return {StatusCode::INTERNAL,
            "Cannot make the directory " + directory.string() + ": " + error.message()};
  }
  scratch_ = directory;
  return Status::OK;
}

fs::path Executable::outputFile() const {
  const Command& build = config_.build_cmd();
  return build.outfile_size() > 0 ? build.outfile(0) : kDefaultOutputName;
}

Status Executable::build(const std::string& bitcode, double& seconds) {
  if (!isBuildable()) {
    return {StatusCode::INVALID_ARGUMENT,
            "The benchmark is not buildable: it has no build command (dynamic_config.build_cmd)"};
  }
  RETURN_IF_ERROR(makeScratchDirectory());
  const fs::path input = scratch_ / kBitcodeName;
  RETURN_IF_ERROR(writeFile(input, bitcode));
  // Removes the last result, so that a build without output cannot return it.
  removeLeftFile(scratch_, outputFile());
  Command command = config_.build_cmd();
  const std::string clang = llvmPrefix() + "/bin/clang";
  const bool hasClang = access(clang.c_str(), X_OK) == 0;
  if (usesClang(command) && !hasClang) {
    return {StatusCode::NOT_FOUND,
            "There is no " + clang +
                ", which builds the program. Install clang on any system with \"pip install "
                "'compiler_gym[clang]'\", or on Debian and Ubuntu with \"apt-get install clang-" +
                std::to_string(LLVM_VERSION_MAJOR) + "\""};
  }
  // Its libraries and headers are there too.
  if (hasClang) command.add_infile(llvmPrefix());
  (*command.mutable_env())["CC"] = clang;
  (*command.mutable_env())["IN"] = input.string();
  RETURN_IF_ERROR(runConfined(command, scratch_, seconds));
  // Linkers cannot do it where programs share the user of the service: see kAttributes in
  // confine/Seccomp.cc.
  if (isRunnable()) makeLeftFileExecutable(scratch_, outputFile());
  return Status::OK;
}

Status Executable::textSize(int64_t& bytes) const {
  std::unique_ptr<llvm::MemoryBuffer> output;
  const Status status = openLeftFile(scratch_, outputFile(), output);
  if (!status.ok()) {
    return {status.error_code(), "The build command did not make the file " +
                                     outputFile().string() + ": " + status.error_message()};
  }
  return llvm_service::textSize(output->getBuffer(), bytes);
}

Status Executable::run(const RunCounts& counts, std::vector<double>& seconds) const {
  if (!isRunnable()) {
    return {StatusCode::INVALID_ARGUMENT,
            "The benchmark is not runnable: it has no run command (dynamic_config.run_cmd)"};
  }
  if (!isBuilt()) {  // Without a build, there is no directory to run commands in.
    return {StatusCode::INTERNAL, "The program has not been built"};
  }
  // An earlier run may have put links to other folders in the place of what they write.
  RETURN_IF_ERROR(runAll(config_.pre_run_cmd(), scratch_, runConfined));
  const CpuPin pin(counts.pinned != 0);
  const Command& command = config_.run_cmd();
  double runSeconds = 0;
  for (int64_t i = 0; i < counts.warmup; ++i) {
    RETURN_IF_ERROR(runConfined(command, scratch_, runSeconds));
  }
  for (int64_t i = 0; i < counts.measured; ++i) {
    RETURN_IF_ERROR(runConfined(command, scratch_, runSeconds));
    seconds.push_back(runSeconds);
  }
  // These are the user's own commands, which keep outputs anywhere.
  return runAll(config_.post_run_cmd(), scratch_, runFreely);
}

}  // namespace compiler_gym::llvm_service
