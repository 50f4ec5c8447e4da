// Tests that results cached by content equal freshly computed ones.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <any>
#include <map>
#include <set>

#include "llvm_service/Target.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/costs/CodeSize.h"
#include "llvm_service/passes/SizeMarks.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/RandomWalk.h"

namespace compiler_gym::llvm_service {
namespace {

// By a code generator that has not been used before.
int64_t sizeFromScratch(const llvm::Module& module) {
  OwnedModule copy;
  EXPECT_THAT(parseIr(writeBitcode(module), copy), IsOk());
  markForSize(*copy.module);
  std::unique_ptr<CodeGenerator> generator;
  EXPECT_THAT(CodeGenerator::make(*copy.module, generator), IsOk());
  int64_t bytes = 0;
  EXPECT_THAT(textSize(generator->run(*copy.module), bytes), IsOk());
  return bytes;
}

TEST(ContentReuseTest, ObjectTextSizeEqualsThatOfFullRecomputation) {
  randomWalk(2, [](Compilation& compilation, bool, const std::string& step) {
    const int64_t expected = sizeFromScratch(compilation.module());
    EXPECT_EQ(observe(compilation, "ObjectTextSizeBytes").int64_value(), expected) << step;
    // Another time it is found.
    EXPECT_EQ(observe(compilation, "ObjectTextSizeBytes").int64_value(), expected) << step;
  });
}

// A session does not compute an observation again until an action reports a change.
TEST(ContentReuseTest, ObservationsStayWhileNoChangeIsReported) {
  std::map<std::string, Event> values;
  int compared = 0;
  randomWalk(30, [&](Compilation& compilation, bool changed, const std::string& step) {
    if (compilation.history().size() == 1) {
      values.clear();
    }
    for (const char* name : {"Ir", "Autophase", "InstCount", "ProgramlPacked", "Inst2vecPacked"}) {
      Event& kept = values[name];
      const Event anew = observe(compilation, name);
      if (!changed && kept.value_case() != Event::VALUE_NOT_SET) {
        EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(kept, anew))
            << name << " after " << step;
        ++compared;
      }
      kept = anew;
    }
  });
  EXPECT_GT(compared, effort(300, 1000));
}

// What a code generator keeps of one program must not show in the size of the next. Memory that has
// been freed is overwritten, as a stale pointer to it often goes unnoticed otherwise.
TEST(ContentReuseTest, ObjectTextSizesDoNotDependOnThoseBefore) {
  for (const char* target : {"x86_64-pc-linux-gnu", "riscv64-linux-gnu", "aarch64-linux-gnu"}) {
    for (int fill = 50; fill < 250; fill += effort(100, 50)) {
      mallopt(M_PERTURB, fill);
      for (const std::string& name : sample<std::string>({"sha256", "sorting", "regex"}, 1)) {
        OwnedModule program;
        ASSERT_THAT(parseIr(kernel(name), program), IsOk());
        ASSERT_THAT(retarget(*program.module, target), IsOk());
        int64_t bytes = 0;
        ASSERT_THAT(objectTextSize(writeBitcode(*program.module), bytes), IsOk());
        EXPECT_EQ(bytes, sizeFromScratch(*program.module)) << name << " for " << target;
      }
    }
  }
  mallopt(M_PERTURB, 0);
}

TEST(ContentReuseTest, IsComputedOnceForEachContent) {
  const auto compilation = startCompilation(kernel("sha256"));
  const Program& program = compilation->program();
  int computed = 0;
  const auto measure = [&](const std::string& bitcode, int64_t& value) {
    ++computed;
    value = static_cast<int64_t>(bitcode.size());
    return grpc::Status::OK;
  };
  const auto cost = [&](const std::string& bitcode, const std::string& name) {
    int64_t value = 0;
    EXPECT_THAT(program.costOf(bitcode, name, measure, value), IsOk());
    return value;
  };
  EXPECT_EQ(cost("abc", "first"), 3);
  EXPECT_EQ(cost("abc", "first"), 3);
  EXPECT_EQ(computed, 1);
  EXPECT_EQ(cost("abcd", "first"), 4);
  EXPECT_EQ(cost("abc", "second"), 3);
  EXPECT_EQ(computed, 3);
}

TEST(ContentReuseTest, ErrorsAreNotKept) {
  const auto compilation = startCompilation(kernel("sha256"));
  bool failing = true;
  const auto measure = [&](const std::string&, int64_t& value) {
    value = 1;
    return failing ? grpc::Status(grpc::StatusCode::INTERNAL, "not now") : grpc::Status::OK;
  };
  int64_t value = 0;
  EXPECT_THAT(compilation->program().costOf("abc", "cost", measure, value),
              IsError(grpc::StatusCode::INTERNAL, "not now"));
  failing = false;
  EXPECT_THAT(compilation->program().costOf("abc", "cost", measure, value), IsOk());
  EXPECT_EQ(value, 1);
}

// Two benchmarks of one program that are built in different ways have different sizes.
TEST(ContentReuseTest, SizesDependOnTheBuildCommand) {
  const auto costs = std::make_shared<SharedCosts>();
  std::set<int64_t> sizes;
  for (const char* options : {"-O1", "-O1 -static"}) {
    Benchmark benchmark = makeBenchmark(kernel("sha256"));
    benchmark.mutable_dynamic_config()->mutable_build_cmd()->add_argument(
        std::string("$CC -Xclang -disable-llvm-passes $IN ") + options);
    std::shared_ptr<const Program> program;
    ASSERT_THAT(Program::load(benchmark, 1 << 20, program, costs), IsOk());
    std::unique_ptr<Compilation> compilation;
    ASSERT_THAT(Compilation::start(program, boost::filesystem::temp_directory_path(), compilation),
                IsOk());
    sizes.insert(observe(*compilation, "TextSizeO0").int64_value());
    sizes.insert(observe(*compilation, "TextSizeBytes").int64_value());
  }
  EXPECT_EQ(sizes.size(), 2u);
}

// Results reassembled from those of unchanged functions.
TEST(ContentReuseTest, KeptPartsOfFunctionsAreThoseOfTheProgram) {
  const std::set<std::string> inParts = {"Autophase",       "InstCount",    "Ir2vec",
                                         "Ir2vecFunctions", "Ir2vecBlocks", "Ir2vecInstructions"};
  std::map<std::string, std::any> kept;
  for (const Observation& observation : availableObservations()) {
    if (inParts.count(observation.space.name()) > 0) {
      kept[observation.space.name()];
    }
  }
  ASSERT_GE(kept.size(), 2u);
  const Compilation* current = nullptr;
  randomWalk(30, [&](Compilation& compilation, bool, const std::string& step) {
    const bool isNew = &compilation != current || compilation.history().size() == 1;
    current = &compilation;
    for (auto& [name, parts] : kept) {
      if (isNew) {
        parts.reset();
      }
      EXPECT_EQ(observe(compilation, name, RunCounts(), &parts).SerializeAsString(),
                observe(compilation, name).SerializeAsString())
          << name << " after " << step;
      EXPECT_TRUE(parts.has_value());
    }
    EXPECT_EQ(observe(compilation, "IrInstructionCount").int64_value(),
              static_cast<int64_t>(compilation.module().getInstructionCount()))
        << step;
  });
}

}  // namespace
}  // namespace compiler_gym::llvm_service
