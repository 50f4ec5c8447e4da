#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "llvm_service/Ir2vecVocabulary.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;
using Vocabulary = std::shared_ptr<const Ir2vecVocabulary>;

#if __has_include("llvm/Analysis/IR2Vec.h")

using ::testing::DoubleNear;

constexpr char kModule[] = R"(
define i32 @f(i32 %a, i32 %b) {
  %c = add i32 %a, %b
  %d = icmp slt i32 %c, 5
  br i1 %d, label %x, label %y
x:
  ret i32 %c
y:
  ret i32 0
}
declare void @external()
define void @g() {
  ret void
}
)";

// The tolerance: text output is rounded, and the weights are single precision.
auto vector(double first, double second) {
  return ElementsAre(DoubleNear(first, 1e-5), DoubleNear(second, 1e-5));
}

std::vector<std::vector<double>> rowsOf(const Event& event) {
  std::vector<std::vector<double>> rows;
  for (const Event& row : event.event_list().event()) {
    const auto& values = row.double_tensor().value();
    rows.emplace_back(values.begin(), values.end());
  }
  return rows;
}

// A vector is 1 times that of the opcode, 0.5 times that of the type and 0.2 times those of the
// operands and of the predicate. See Observing.cc for the vocabulary.
TEST(Ir2vecTest, AllLevels) {
  const auto compilation = startCompilation(kModule);
  EXPECT_THAT(rowsOf(observe(*compilation, "Ir2vecInstructions")),
              ElementsAre(
                  // (1, 0) + 0.5 (0, 1) + 0.2 (0.5 + 0.5, 0).
                  vector(1.2, 0.5),
                  // (2, 0) + 0.5 (0, 1) + 0.2 ((0.5, 0) + (0, 10) + (100, 0)).
                  vector(22.1, 2.5),
                  // (4, 0) + 0.5 (0, 2) + 0.2 (0.5 + 0.5 + 0.5, 0): labels are variables.
                  vector(4.3, 1),
                  // (8, 0) + 0.5 (0, 2) + 0.2 (0.5, 0), and with a constant, and with nothing.
                  vector(8.1, 1), vector(8, 3), vector(8, 1)));
  EXPECT_THAT(rowsOf(observe(*compilation, "Ir2vecBlocks")),
              ElementsAre(vector(27.6, 4), vector(8.1, 1), vector(8, 3), vector(8, 1)));
  EXPECT_THAT(rowsOf(observe(*compilation, "Ir2vecFunctions")),
              ElementsAre(vector(43.7, 8), vector(8, 1)));
  const Event program = observe(*compilation, "Ir2vec");
  EXPECT_THAT(program.double_tensor().shape(), ElementsAre(2));
  EXPECT_THAT(program.double_tensor().value(), vector(51.7, 9));
}

TEST(Ir2vecTest, EqualsWhatLlvmsToolPrints) {
  const TemporaryDirectory directory;
  const std::string vocabulary = (directory.path() / "vocabulary.json").string();
  const std::string program = (directory.path() / "program.bc").string();
  std::ofstream(vocabulary) << R"({"Opcodes": {"Add": [1, 2, 3], "Load": [4, 5, 6]},
      "Types": {"PointerTy": [1, 0, 1]}, "Arguments": {"Pointer": [0, 1, 0], "ICMP_eq": [7, 0, 0]}})";
  std::ofstream(program, std::ios::binary) << kernel("sorting");
  Vocabulary parsed;
  ASSERT_THAT(Ir2vecVocabulary::load(vocabulary, parsed), IsOk());
  EXPECT_EQ(parsed->dimension(), 3u);
  OwnedModule owned;
  ASSERT_THAT(parseIr(kernel("sorting"), owned), IsOk());
  // Function: name, and in the next line [ 1.20 3.40 5.60 ].
  std::istringstream printed(runLlvmTool(
      {"llvm-ir2vec", "embeddings", "--level=func", "--ir2vec-vocab-path=" + vocabulary, program}));
  int functions = 0;
  for (std::string word; printed >> word;) {
    ASSERT_EQ(word, "Function:");
    std::string name;
    printed >> name >> word;
    ASSERT_EQ(word, "[");
    const auto vector = parsed->ofFunction(*owned.module->getFunction(name));
    for (const double element : vector) {
      double expected = 0;
      printed >> expected;
      EXPECT_NEAR(element, expected, 0.006) << name;
    }
    printed >> word;
    ASSERT_EQ(word, "]");
    ++functions;
  }
  EXPECT_GT(functions, 3);
}

class BadVocabularyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BadVocabularyTest, IsRefused) {
  Vocabulary vocabulary;
  EXPECT_THAT(Ir2vecVocabulary::parse(GetParam(), "of the user", vocabulary),
              IsError(StatusCode::INVALID_ARGUMENT, "of the user"));
  EXPECT_EQ(vocabulary, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Text, BadVocabularyTest,
    ::testing::Values("", "[]", "{", "3", "{}", R"({"Opcodes": {}, "Types": {}, "Arguments": {}})",
                      R"({"Opcodes": {"Add": [1]}, "Types": {}})",
                      R"({"Opcodes": {"Add": [1]}, "Types": {"VoidTy": [1, 2]}, "Arguments": {}})",
                      R"({"Opcodes": {"Add": [1], "Sub": []}, "Types": {}, "Arguments": {}})",
                      R"({"Opcodes": {"Add": ["x"]}, "Types": {}, "Arguments": {}})",
                      R"({"Opcodes": [1], "Types": {}, "Arguments": {}})"));

#endif

}  // namespace
}  // namespace compiler_gym::llvm_service
