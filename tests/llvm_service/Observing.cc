#include "tests/llvm_service/Observing.h"

#include <gtest/gtest.h>

#include "llvm_service/observations/Observation.h"
#include "tests/llvm_service/Statuses.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr size_t kMaxProgramBytes = 64 << 20;

}  // namespace

std::unique_ptr<Compilation> startCompilation(const Benchmark& benchmark,
                                              const boost::filesystem::path& workingDirectory) {
  std::shared_ptr<const Program> program;
  const grpc::Status loaded = Program::load(benchmark, kMaxProgramBytes, program);
  EXPECT_THAT(loaded, IsOk());
  std::unique_ptr<Compilation> compilation;
  if (loaded.ok()) {
    EXPECT_THAT(Compilation::start(program, workingDirectory, compilation), IsOk());
  }
  return compilation;
}

grpc::Status tryObserve(Compilation& compilation, const std::string& observation, Event& event,
                        const RunCounts& runCounts) {
  static const Observations all = listObservations();
  for (const Observation& candidate : all) {
    if (candidate.space.name() == observation) {
      return candidate.compute({compilation, runCounts}, event);
    }
  }
  return {grpc::StatusCode::NOT_FOUND, "There is no observation " + observation};
}

Event observe(Compilation& compilation, const std::string& observation,
              const RunCounts& runCounts) {
  Event event;
  EXPECT_THAT(tryObserve(compilation, observation, event, runCounts), IsOk()) << observation;
  return event;
}

bool applyPass(Compilation& compilation, const std::string& pipeline) {
  bool changed = false;
  EXPECT_THAT(compilation.apply(pipeline, changed), IsOk()) << pipeline;
  return changed;
}

}  // namespace compiler_gym::llvm_service
