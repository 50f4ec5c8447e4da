// Runs passes on a program in this process, without a service, and measures each. The steps of the
// service are compared with these times.
//
//   Replay program.bc
//
// reads one command per line and answers each at once with one line, so that the caller can do
// other measurements between commands. Durations are integers, in nanoseconds.
//
//   start             loads the file again. Answers the number of IR instructions, the time to
//                     load the program, and the time to start a compilation of it.
//   run PIPELINE      runs a pass as `opt` does, and answers the time.
//   apply PIPELINE    runs a pass as the service does, which then looks whether the module has
//                     changed. Answers the time, and 1 if it has.
//   observe NAME      computes an observation of what `apply` has made. Answers the time.
//
// `run` and `apply` transform one module each, and both keep the analyses from pass to pass. Ends
// with the input. An error is printed to the standard error stream, with exit code 1.
#include <boost/filesystem.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "benchmarks/llvm_service/ProgramFile.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/StringRef.h"
#include "llvm_service/Compilation.h"
#include "llvm_service/Ir.h"
#include "llvm_service/Optimizer.h"
#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

template <typename Function>
Status timed(Function&& function, int64_t& nanoseconds) {
  const auto start = std::chrono::steady_clock::now();
  Status status = function();
  const auto duration = std::chrono::steady_clock::now() - start;
  nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return status;
}

/// A module and what transforms it, and nothing else.
struct BareModule {
  explicit BareModule(OwnedModule module) : owned(std::move(module)), optimizer(*owned.module) {}

  OwnedModule owned;
  Optimizer optimizer;
};

class Replay {
 public:
  explicit Replay(std::string path) : path_(std::move(path)) {}

  Status start(std::string& answer) {
    std::shared_ptr<const Program> program;
    const auto load = [&] { return loadProgramFile(path_, program); };
    const auto prepare = [&] {
      return Compilation::start(program, boost::filesystem::temp_directory_path(), compilation_);
    };
    int64_t loading = 0;
    int64_t starting = 0;
    RETURN_IF_ERROR(timed(load, loading));
    RETURN_IF_ERROR(timed(prepare, starting));
    OwnedModule owned;
    RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
    bare_ = std::make_unique<BareModule>(std::move(owned));
    answer = std::to_string(compilation_->module().getInstructionCount()) + " " +
             std::to_string(loading) + " " + std::to_string(starting);
    return Status::OK;
  }

  Status run(const std::string& pipeline, std::string& answer) {
    int64_t duration = 0;
    RETURN_IF_ERROR(timed([&] { return bare_->optimizer.run(pipeline); }, duration));
    answer = std::to_string(duration);
    return Status::OK;
  }

  Status apply(const std::string& pipeline, std::string& answer) {
    compilation_->catchUp();  // The service does it after its reply to the step before.
    const Action& action =
        actions_.try_emplace(pipeline, Action{pipeline, pipeline, /*description=*/""})
            .first->second;
    bool changed = false;
    int64_t duration = 0;
    RETURN_IF_ERROR(timed([&] { return compilation_->apply(action, changed); }, duration));
    answer = std::to_string(duration) + (changed ? " 1" : " 0");
    return Status::OK;
  }

  Status observe(const std::string& name, std::string& answer) {
    for (const Observation& observation : observations_) {
      if (observation.space.name() == name) {
        int64_t duration = 0;
        RETURN_IF_ERROR(timed([&] { return compute(observation); }, duration));
        answer = std::to_string(duration);
        return Status::OK;
      }
    }
    return {StatusCode::INVALID_ARGUMENT, "There is no observation \"" + name + "\""};
  }

  bool isStarted() const { return compilation_ != nullptr; }

 private:
  Status compute(const Observation& observation) {
    if (observation.exports) {
      RETURN_IF_ERROR(compilation_->verify());
    }
    Event event;
    return observation.compute({*compilation_, RunCounts()}, event);
  }

  const Observations observations_ = listObservations();
  const std::string path_;
  std::unique_ptr<BareModule> bare_;
  // By pipeline. Before the compilation, whose history refers to them.
  std::map<std::string, Action> actions_;
  std::unique_ptr<Compilation> compilation_;
};

Status answerTo(const std::string& line, Replay& replay, std::string& answer) {
  const auto [command, argument] = llvm::StringRef(line).split(' ');
  if (command == "start") {
    return replay.start(answer);
  }
  if (!replay.isStarted()) {
    return {StatusCode::FAILED_PRECONDITION, "The first command must be 'start'"};
  }
  if (command == "run") {
    return replay.run(argument.str(), answer);
  }
  if (command == "apply") {
    return replay.apply(argument.str(), answer);
  }
  if (command == "observe") {
    return replay.observe(argument.str(), answer);
  }
  return {StatusCode::INVALID_ARGUMENT,
          "Unknown command \"" + command.str() + "\"; there are start, run, apply and observe"};
}

int answerAll(const std::string& path) {
  Replay replay(path);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    if (const Status status = answerTo(line, replay, answer); !status.ok()) {
      std::cerr << "Replay: " << status.error_message() << std::endl;
      return 1;
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace

}  // namespace compiler_gym::llvm_service

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " program.bc < commands" << std::endl;
    return 1;
  }
  return compiler_gym::llvm_service::answerAll(argv[1]);
}
