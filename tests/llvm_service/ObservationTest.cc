#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "compiler_gym/service/proto/SpaceContainsEventChecker.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"
#include "llvm_service/passes/Levels.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// A program that can be built and run in no time.
Benchmark runnableBenchmark() {
  Benchmark benchmark = makeBenchmark(kernel("sha256"));
  BenchmarkDynamicConfig& config = *benchmark.mutable_dynamic_config();
  config.mutable_build_cmd()->add_argument("$CC -O2 -Xclang -disable-llvm-passes $IN");
  config.mutable_run_cmd()->add_argument("./a.out </dev/null");
  return benchmark;
}

std::string textOf(Compilation& compilation, const std::string& observation) {
  return observe(compilation, observation).string_value();
}

int64_t numberOf(Compilation& compilation, const std::string& observation) {
  return observe(compilation, observation).int64_value();
}

std::string bitcodeOf(Compilation& compilation) {
  return observe(compilation, "Bitcode").byte_tensor().value();
}

// The space of an Opaque value is that of the text in it.
Event decoded(const Event& event) {
  Opaque opaque;
  if (!event.any_value().UnpackTo(&opaque)) {
    return event;
  }
  Event text;
  text.set_string_value(opaque.data());
  return text;
}

TEST(ObservationListTest, ValuesAreInTheirSpaces) {
  const TemporaryDirectory directory;
  const SpaceContainsEventChecker checker = makeDefaultSpaceContainsEventChecker();
  const auto compilation = startCompilation(runnableBenchmark(), directory.path());
  for (const Observation& observation : availableObservations()) {
    const ObservationSpace& space = observation.space;
    const Event event = observe(*compilation, space.name());
    EXPECT_EQ(checker.findMismatch(exactSpace(space), decoded(event)), std::nullopt)
        << space.name();
  }
}

TEST(IrSha1ObservationTest, EqualsTheHashThatOptStores) {
  const TemporaryDirectory directory;
  const auto compilation = startCompilation(kernel("sorting"));
  const std::string input = (directory.path() / "in.bc").string();
  std::ofstream(input, std::ios::binary) << bitcodeOf(*compilation);
  const std::string hashed = (directory.path() / "hashed.bc").string();
  runLlvmTool({"opt", "-discard-value-names", "-module-hash", input, "-o", hashed});
  // A record of five 32-bit words, in decimal: <HASH abbrevid=... op0=... ... op4=.../>
  const std::string dump = runLlvmTool({"llvm-bcanalyzer", "-dump", hashed});
  const size_t record = dump.find("<HASH ");
  ASSERT_NE(record, std::string::npos);
  std::string expected;
  for (int word = 0; word < 5; ++word) {
    const std::string key = "op" + std::to_string(word) + "=";
    const size_t value = dump.find(key, record);
    ASSERT_NE(value, std::string::npos);
    char digits[9];
    std::snprintf(digits, sizeof(digits), "%08lx", std::stoul(dump.substr(value + key.size())));
    expected += digits;
  }
  EXPECT_EQ(textOf(*compilation, "IrSha1"), expected);
}

TEST(BitcodeFileObservationTest, IsANewFileEachTime) {
  const TemporaryDirectory directory;
  const auto compilation = startCompilation(makeBenchmark(kernel("sorting")), directory.path());
  const std::string first = textOf(*compilation, "BitcodeFile");
  const std::string second = textOf(*compilation, "BitcodeFile");
  EXPECT_NE(first, second);
  EXPECT_THAT(first, StartsWith(directory.path().string() + "/"));
  const std::string bitcode = bitcodeOf(*compilation);
  EXPECT_TRUE(readFile(first) == bitcode);
  EXPECT_TRUE(readFile(second) == bitcode);
  // The files belong to the client.
  ASSERT_TRUE(applyPass(*compilation, "function(sroa)"));
  EXPECT_TRUE(readFile(first) == bitcode);
  EXPECT_EQ(directory.entries(), 2);
}

TEST(BitcodeFileObservationTest, SaysWhereItCannotWrite) {
  const TemporaryDirectory directory;
  const auto missing = directory.path() / "missing";
  const auto compilation = startCompilation(makeBenchmark(kernel("sorting")), missing);
  Event event;
  EXPECT_THAT(tryObserve(*compilation, "BitcodeFile", event),
              IsError(StatusCode::INTERNAL, "Cannot write " + missing.string()));
}

TEST(IrInstructionCountObservationTest, BaselinesOfASmallProgram) {
  // 4 instructions, of which one is left: ret i32 5.
  constexpr char kText[] =
      "define i32 @f() {\n  %1 = alloca i32\n  store i32 5, ptr %1\n"
      "  %2 = load i32, ptr %1\n  ret i32 %2\n}\n";
  const auto compilation = startCompilation(kText);
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCount"), 4);
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCountO0"), 4);
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCountO3"), 1);
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCountOz"), 1);
  ASSERT_TRUE(applyPass(*compilation, "function(mem2reg)"));
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCount"), 1);
  EXPECT_EQ(numberOf(*compilation, "IrInstructionCountO0"), 4);
}

TEST(ObjectTextSizeObservationTest, RefusesTargetsThatItCannotCompileFor) {
  const auto compilation = startCompilation(
      "target triple = \"nosuch-unknown-linux\"\ndefine void @f() {\n  ret void\n}\n");
  Event event;
  EXPECT_THAT(tryObserve(*compilation, "ObjectTextSizeBytes", event),
              IsError(StatusCode::INVALID_ARGUMENT, "nosuch"));
}

TEST(ObjectTextSizeObservationTest, CodeThatCannotBeGeneratedIsAnError) {
  const auto compilation = startCompilation(
      "target triple = \"x86_64-pc-linux-gnu\"\n"
      "define i32 @f() {\n"
      "  %1 = call i32 asm \"nosuchinstruction\", \"=r\"()\n"
      "  ret i32 %1\n"
      "}\n");
  Event event;
  EXPECT_THAT(tryObserve(*compilation, "ObjectTextSizeBytes", event),
              IsError(StatusCode::INVALID_ARGUMENT, "nosuchinstruction"));
}

TEST(TextSizeObservationTest, IsThatOfTheBuiltProgram) {
  const auto compilation = startCompilation(runnableBenchmark());
  // The program comes with what starts it.
  EXPECT_GT(numberOf(*compilation, "TextSizeBytes"), numberOf(*compilation, "ObjectTextSizeBytes"));
  EXPECT_EQ(numberOf(*compilation, "TextSizeO0"), numberOf(*compilation, "TextSizeBytes"));
  EXPECT_LT(numberOf(*compilation, "TextSizeOz"), numberOf(*compilation, "TextSizeO0"));
  applyPass(*compilation, baselinePipeline("Oz"));
  EXPECT_GE(numberOf(*compilation, "TextSizeBytes"), numberOf(*compilation, "TextSizeOz"));
}

TEST(TextSizeObservationTest, NeedsABuildCommand) {
  const auto compilation = startCompilation(kernel("sha256"));
  for (const char* name : {"TextSizeBytes", "TextSizeO0", "TextSizeO3", "TextSizeOz"}) {
    Event event;
    EXPECT_THAT(tryObserve(*compilation, name, event),
                IsError(StatusCode::INVALID_ARGUMENT, "not buildable"))
        << name;
  }
}

TEST(TextSizeObservationTest, LeavesNothingBehind) {
  const TemporaryDirectory directory;
  {
    const auto compilation = startCompilation(runnableBenchmark(), directory.path());
    numberOf(*compilation, "TextSizeOz");
    EXPECT_EQ(directory.entries(), 0);
  }
}

TEST(TimeObservationTest, BuildsEachModuleOnce) {
  const auto compilation = startCompilation(runnableBenchmark());
  const auto buildtime = [&] {
    return observe(*compilation, "Buildtime").double_tensor().value(0);
  };
  const double first = buildtime();
  observe(*compilation, "Runtime");
  EXPECT_EQ(buildtime(), first);
  ASSERT_TRUE(applyPass(*compilation, "function(sroa)"));
  EXPECT_NE(buildtime(), first);
}

TEST(CpuInfoObservationTest, HasTheDocumentedFields) {
  const auto compilation = startCompilation("; nothing\n");
  const Event event = observe(*compilation, "CpuInfo");
  std::vector<std::string> names;
  for (const auto& [name, value] : event.event_dict().event()) {
    names.push_back(name);
  }
  EXPECT_THAT(names, UnorderedElementsAre("name", "cores_count", "l1i_cache_size",
                                          "l1i_cache_count", "l1d_cache_size", "l1d_cache_count",
                                          "l2_cache_size", "l2_cache_count", "l3_cache_size",
                                          "l3_cache_count", "l4_cache_size", "l4_cache_count"));
  const auto& fields = event.event_dict().event();
  EXPECT_THAT(fields.at("name").string_value(), Not(IsEmpty()));
  EXPECT_EQ(fields.at("cores_count").int64_value(), std::thread::hardware_concurrency());
  for (const std::string cache : {"l1i", "l1d", "l2", "l3", "l4"}) {
    const int64_t size = fields.at(cache + "_cache_size").int64_value();
    const int64_t count = fields.at(cache + "_cache_count").int64_value();
    EXPECT_EQ(size == -1, count == 0) << cache << ": " << count << " of " << size << " bytes";
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
