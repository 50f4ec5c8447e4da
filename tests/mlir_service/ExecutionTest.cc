#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "mlir/IR/MLIRContext.h"
#include "mlir_service/Context.h"
#include "mlir_service/Execution.h"
#include "mlir_service/Lowering.h"
#include "tests/Statuses.h"
#include "tests/mlir_service/Programs.h"

namespace compiler_gym::mlir_service {
namespace {

constexpr std::chrono::seconds kLimit(60);

/// A kernel and its code.
struct Compiled {
  explicit Compiled(const std::string& text) {
    EXPECT_THAT(makeContext(context), IsOk());
    EXPECT_THAT(parseKernel(text, *context, kernel), IsOk());
    EXPECT_THAT(compile(*kernel.module, code), IsOk());
  }

  Execution execution() const { return Execution(kernel.arguments, code.object, kLimit); }

  std::unique_ptr<mlir::MLIRContext> context;
  Kernel kernel;
  MachineCode code;
};

float numberAt(const std::string& contents, size_t index) {
  float number = 0;
  std::memcpy(&number, contents.data() + index * sizeof(float), sizeof(float));
  return number;
}

std::string bytesOf(const std::vector<float>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
}

TEST(ExecutionTest, Computes) {
  const Compiled compiled(kTwice);
  Contents results;
  ASSERT_TRUE(compiled.execution().run(results).ok());
  const Contents inputs = makeInputs(compiled.kernel.arguments);
  EXPECT_EQ(makeInputs(compiled.kernel.arguments), inputs);
  EXPECT_EQ(results[0], inputs[0]);
  for (size_t i = 0; i < 32; ++i) {
    // Small whole numbers have exact sums in any order.
    EXPECT_EQ(numberAt(inputs[0], i), std::round(numberAt(inputs[0], i)));
    EXPECT_LE(std::abs(numberAt(inputs[0], i)), 2);
    EXPECT_EQ(numberAt(results[1], i), 2 * numberAt(inputs[0], i) + numberAt(inputs[1], i));
  }
}

#ifndef COMPILER_GYM_SANITIZER
// The program may be anybody's, and call any function of the system's libraries.
TEST(ExecutionTest, KernelsCanOnlyCompute) {
  const Compiled compiled(R"(
func.func private @getppid() -> i32
func.func private @socket(i32, i32, i32) -> i32
func.func @kernel(%results: memref<2xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %number = arith.constant 1 : i32
  %parent = func.call @getppid() : () -> i32
  memref.store %parent, %results[%zero] : memref<2xi32>
  %socket = func.call @socket(%number, %number, %number) : (i32, i32, i32) -> i32
  memref.store %socket, %results[%one] : memref<2xi32>
  return
})");
  Contents results;
  ASSERT_THAT(compiled.execution().run(results), IsOk());
  EXPECT_EQ(results[0], std::string(2 * sizeof(int32_t), '\xff'));
}
#endif

TEST(ExecutionTest, WrongResultsAreNotMeasured) {
  Contents expected;
  ASSERT_TRUE(Compiled(kTwice).execution().run(expected).ok());
  std::vector<double> seconds;
  EXPECT_THAT(Compiled(kAlmostTwice).execution().measure(expected, RunCounts(), seconds),
              IsError(grpc::StatusCode::DATA_LOSS, "argument 1 has 99 at [2, 5] instead of"));
  EXPECT_TRUE(seconds.empty());
}

TEST(ExecutionTest, DifferencesNameArgumentAndIndex) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Buffer> arguments = {{ElementType::kF32, {2, 2}}};
  const Contents some = {bytesOf({1, nan, 0, 4})};
  EXPECT_EQ(findDifference(arguments, some, {bytesOf({1, -nan, -0.0F, 4})}), "");
  EXPECT_EQ(findDifference(arguments, some, {bytesOf({1, nan, 0, 5})}),
            "argument 0 has 5 at [1, 1] instead of 4");
  EXPECT_NE(findDifference(arguments, some, {bytesOf({1, 2, 0, 4})}), "");
}

}  // namespace
}  // namespace compiler_gym::mlir_service
