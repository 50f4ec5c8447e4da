#include "tests/llvm_service/Observing.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "llvm/ADT/STLExtras.h"
#include "llvm_service/Ir2vecVocabulary.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr size_t kMaxProgramBytes = 64 << 20;

constexpr char kVocabulary[] = R"({
  "Opcodes": {"Add": [1, 0], "ICmp": [2, 0], "Br": [4, 0], "Ret": [8, 0]},
  "Types": {"IntegerTy": [0, 1], "VoidTy": [0, 2]},
  "Arguments": {"Variable": [0.5, 0], "Constant": [0, 10], "ICMP_slt": [100, 0]}
})";

// Null if this LLVM has no IR2Vec.
const Ir2vecVocabulary* testVocabulary() {
  static const auto vocabulary = [] {
    std::shared_ptr<const Ir2vecVocabulary> result;
    const grpc::Status parsed = Ir2vecVocabulary::parse(kVocabulary, "for tests", result);
    if (parsed.error_code() != grpc::StatusCode::UNIMPLEMENTED) {
      EXPECT_THAT(parsed, IsOk());
    }
    return result;
  }();
  return vocabulary.get();
}

}  // namespace

std::unique_ptr<Compilation> startCompilation(const Benchmark& benchmark,
                                              const boost::filesystem::path& workingDirectory) {
  std::shared_ptr<const Program> program;
  std::unique_ptr<Compilation> compilation;
  grpc::Status status = Program::load(benchmark, kMaxProgramBytes, program);
  if (status.ok()) status = Compilation::start(program, workingDirectory, compilation);
  if (!status.ok()) throw std::runtime_error(describe(status));
  return compilation;
}

std::unique_ptr<Compilation> startCompilation(const std::string& program) {
  return startCompilation(makeBenchmark(program));
}

Observations availableObservations() {
  Observations all = listObservations();
  if (testVocabulary() == nullptr) {
    llvm::erase_if(all, [](const Observation& observation) {
      return llvm::StringRef(observation.space.name()).starts_with("Ir2vec");
    });
  }
  return all;
}

grpc::Status tryObserve(Compilation& compilation, const std::string& observation, Event& event,
                        const RunCounts& runCounts, std::any* kept) {
  static const Observations all = listObservations();
  for (const Observation& candidate : all) {
    if (candidate.space.name() == observation) {
      return candidate.compute({compilation, runCounts, testVocabulary(), kept}, event);
    }
  }
  return {grpc::StatusCode::NOT_FOUND, "There is no observation " + observation};
}

Event observe(Compilation& compilation, const std::string& observation, const RunCounts& runCounts,
              std::any* kept) {
  Event event;
  EXPECT_THAT(tryObserve(compilation, observation, event, runCounts, kept), IsOk()) << observation;
  return event;
}

const Action& actionOf(const std::string& pipeline) {
  static std::map<std::string, Action> actions;
  return actions.try_emplace(pipeline, Action{pipeline, pipeline, /*description=*/""})
      .first->second;
}

bool applyPass(Compilation& compilation, const std::string& pipeline) {
  bool changed = false;
  EXPECT_THAT(compilation.apply(actionOf(pipeline), changed), IsOk()) << pipeline;
  return changed;
}

}  // namespace compiler_gym::llvm_service
