// Benchmarks of the parts of a step inside the service: a pass, the search for changes after it,
// and the cheap observations; also the start of a compilation. One program for each size of module:
//
//   bazel run //benchmarks/llvm_service:PassBenchmark -- program.bc [program.bc...]
#include <benchmark/benchmark.h>

#include <iostream>
#include <memory>
#include <string>

#include "benchmarks/llvm_service/ProgramFile.h"
#include "llvm_service/Compilation.h"
#include "llvm_service/Ir.h"
#include "llvm_service/Optimizer.h"
#include "llvm_service/observations/Observation.h"

namespace {

using namespace compiler_gym;
using namespace compiler_gym::llvm_service;

void check(const grpc::Status& status) {
  if (!status.ok()) {
    std::cerr << status.error_message() << std::endl;
    std::exit(1);
  }
}

std::shared_ptr<const Program> load(const std::string& path) {
  std::shared_ptr<const Program> program;
  check(loadProgramFile(path, program));
  return program;
}

std::unique_ptr<Compilation> start(const std::shared_ptr<const Program>& program) {
  std::unique_ptr<Compilation> compilation;
  check(Compilation::start(program, "/tmp", compilation));
  return compilation;
}

void registerFor(const std::string& path) {
  const std::shared_ptr<const Program> program = load(path);
  const std::shared_ptr<Compilation> compilation = start(program);
  const std::string size = "/" + std::to_string(compilation->module().getInstructionCount());

  benchmark::RegisterBenchmark(("Start" + size).c_str(), [=](benchmark::State& state) {
    for (auto _ : state) {
      benchmark::DoNotOptimize(start(program));
    }
  });
  for (const char* pass : {"function(dce)", "function(instcombine<no-verify-fixpoint>)",
                           "function(simplifycfg)", "globaldce"}) {
    // The pass has no work after its first run, so this is the minimum cost of a step.
    const Action action{pass, pass, /*description=*/""};
    benchmark::RegisterBenchmark((pass + size).c_str(), [=](benchmark::State& state) {
      bool changed = false;
      for (auto _ : state) {
        check(compilation->apply(action, changed));
      }
    });
    // The same, without detecting changes.
    benchmark::RegisterBenchmark((pass + (" alone" + size)).c_str(), [=](benchmark::State& state) {
      OwnedModule owned;
      check(parseIr(program->bitcode(), owned));
      Optimizer optimizer(*owned.module);
      for (auto _ : state) {
        check(optimizer.run(pass));
      }
    });
  }
  for (const Observation& observation : listObservations()) {
    const std::string& name = observation.space.name();
    if (name != "Autophase" && name != "InstCount" && name != "Ir" && name != "IrSha1" &&
        name != "ObjectTextSizeBytes") {
      continue;
    }
    benchmark::RegisterBenchmark((name + size).c_str(), [=](benchmark::State& state) {
      for (auto _ : state) {
        Event event;
        check(observation.compute({*compilation, RunCounts()}, event));
        benchmark::DoNotOptimize(event);
      }
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    registerFor(argv[i]);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
