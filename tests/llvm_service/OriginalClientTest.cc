#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/llvm_service/LlvmClient.h"
#include "tests/llvm_service/Programs.h"

// Requirements of the CompilerGym 0.2.5 client on the messages of the service: it was seen to start
// on such descriptions, and not to start on others, and to understand such values.

namespace compiler_gym::llvm_service {
namespace {

struct Fact {
  const char* name;
  Space::ValueCase space;
  // Of values, also of the default; an opaque one is of JSON.
  Event::ValueCase value;
  bool hasDefault;
  bool deterministic;
  bool platformDependent;
};

void PrintTo(const Fact& fact, std::ostream* stream) { *stream << fact.name; }

// The 26 observations that it knows, by their index.
std::vector<Fact> facts() {
  const auto count = [](const char* name, bool platformDependent) {
    return Fact{name, Space::kInt64Value, Event::kInt64Value, true, true, platformDependent};
  };
  return {
      {"Ir", Space::kStringValue, Event::kStringValue, false, true, false},
      {"IrSha1", Space::kStringValue, Event::kStringValue, false, true, false},
      {"Bitcode", Space::kByteSequence, Event::kByteTensor, false, true, false},
      {"BitcodeFile", Space::kStringValue, Event::kStringValue, false, false, false},
      {"InstCount", Space::kInt64Box, Event::kInt64Tensor, true, true, false},
      {"Autophase", Space::kInt64Box, Event::kInt64Tensor, true, true, false},
      {"Programl", Space::kStringValue, Event::kAnyValue, true, true, false},
      {"ProgramlJson", Space::kStringValue, Event::kAnyValue, true, true, false},
      {"CpuInfo", Space::kSpaceDict, Event::kEventDict, false, true, true},
      count("IrInstructionCount", false),
      count("IrInstructionCountO0", false),
      count("IrInstructionCountO3", false),
      count("IrInstructionCountOz", false),
      count("ObjectTextSizeBytes", true),
      count("ObjectTextSizeO0", true),
      count("ObjectTextSizeO3", true),
      count("ObjectTextSizeOz", true),
      count("TextSizeBytes", true),
      count("TextSizeO0", true),
      count("TextSizeO3", true),
      count("TextSizeOz", true),
      {"IsBuildable", Space::kBooleanValue, Event::kBooleanValue, true, true, true},
      {"IsRunnable", Space::kBooleanValue, Event::kBooleanValue, true, true, true},
      {"Runtime", Space::kDoubleSequence, Event::kDoubleTensor, false, false, true},
      {"Buildtime", Space::kDoubleSequence, Event::kDoubleTensor, false, false, true},
      {"LexedIr", Space::kStringValue, Event::kEventDict, false, true, false},
  };
}

Benchmark runnableBenchmark() {
  Benchmark benchmark = makeBenchmark(kernel("sha256"));
  BenchmarkDynamicConfig& config = *benchmark.mutable_dynamic_config();
  config.mutable_build_cmd()->add_argument("$CC $IN");
  config.mutable_run_cmd()->add_argument("./a.out </dev/null");
  return benchmark;
}

class OriginalClientTest : public ::testing::TestWithParam<Fact> {
 protected:
  static LlvmClient& client() {
    static LlvmClient instance;
    return instance;
  }

  static int64_t session() {
    static const int64_t number = client().start(runnableBenchmark());
    return number;
  }

  static const ObservationSpace& declared(const std::string& name) {
    return client().spaces().observation_space_list(client().observationIndex(name));
  }
};

TEST_P(OriginalClientTest, IsOfTheKindThatItReads) {
  const Fact& fact = GetParam();
  const ObservationSpace& space = declared(fact.name);
  EXPECT_EQ(space.space().value_case(), fact.space);
  EXPECT_EQ(space.deterministic(), fact.deterministic);
  EXPECT_EQ(space.platform_dependent(), fact.platformDependent);
  EXPECT_EQ(space.has_default_observation(), fact.hasDefault);
  if (fact.hasDefault) {
    EXPECT_EQ(space.default_observation().value_case(), fact.value);
  }
  const Event value = client().observe(session(), fact.name);
  EXPECT_EQ(value.value_case(), fact.value);
  EXPECT_FALSE(value.has_type_id());
}

INSTANTIATE_TEST_SUITE_P(Observation, OriginalClientTest, ::testing::ValuesIn(facts()),
                         [](const auto& info) { return std::string(info.param.name); });

using OriginalClientSpacesTest = OriginalClientTest;

// It reads the whole list when it starts, also what came after it, and knows no sequences of texts.
bool isReadable(const Space& space) {
  const auto& fields = space.space_dict().space();
  const auto& elements = space.space_list().space();
  return space.value_case() != Space::kStringSequence &&
         std::all_of(fields.begin(), fields.end(),
                     [](const auto& field) { return isReadable(field.second); }) &&
         std::all_of(elements.begin(), elements.end(), isReadable) &&
         (!space.has_space_sequence() || isReadable(space.space_sequence().space()));
}

TEST_F(OriginalClientSpacesTest, AllSpacesAreReadable) {
  for (const ObservationSpace& space : client().spaces().observation_space_list()) {
    EXPECT_TRUE(isReadable(space.space())) << space.name();
    EXPECT_NE(space.space().value_case(), Space::VALUE_NOT_SET) << space.name();
    EXPECT_FALSE(space.space().has_type_id()) << space.name();
  }
}

// Clients that know the field get what the values are.
TEST_F(OriginalClientSpacesTest, TextInPlaceOfATableComesWithTheTable) {
  const ObservationSpace& space = declared("LexedIr");
  std::vector<std::string> columns;
  for (const auto& [name, column] : space.exact_space().space_dict().space()) {
    columns.push_back(name);
  }
  EXPECT_THAT(columns, ::testing::UnorderedElementsAre("token_id", "token_kind", "token_category",
                                                       "token_value"));
  EXPECT_FALSE(declared("Autophase").has_exact_space());
}

}  // namespace
}  // namespace compiler_gym::llvm_service
