#include "tests/llvm_service/Observing.h"

#include <gtest/gtest.h>

#include "llvm_service/observations/Observation.h"
#include "tests/llvm_service/Statuses.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr size_t kMaxProgramBytes = 64 << 20;

constexpr char kVocabulary[] = R"({
  "Opcodes": {"Add": [1, 0], "ICmp": [2, 0], "Br": [4, 0], "Ret": [8, 0]},
  "Types": {"IntegerTy": [0, 1], "VoidTy": [0, 2]},
  "Arguments": {"Variable": [0.5, 0], "Constant": [0, 10], "ICMP_slt": [100, 0]}
})";

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

const Ir2vecVocabulary& testVocabulary() {
  static const auto vocabulary = [] {
    std::shared_ptr<const Ir2vecVocabulary> result;
    EXPECT_THAT(Ir2vecVocabulary::parse(kVocabulary, "for tests", result), IsOk());
    return result;
  }();
  return *vocabulary;
}

grpc::Status tryObserve(Compilation& compilation, const std::string& observation, Event& event,
                        const RunCounts& runCounts) {
  static const Observations all = listObservations();
  for (const Observation& candidate : all) {
    if (candidate.space.name() == observation) {
      return candidate.compute({compilation, runCounts, &testVocabulary()}, event);
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

Action actionOf(const std::string& pipeline) { return {pipeline, pipeline, /*description=*/""}; }

bool applyPass(Compilation& compilation, const std::string& pipeline) {
  bool changed = false;
  EXPECT_THAT(compilation.apply(actionOf(pipeline), changed), IsOk()) << pipeline;
  return changed;
}

}  // namespace compiler_gym::llvm_service
