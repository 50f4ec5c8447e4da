#include <gtest/gtest.h>

#include "mlir/IR/MLIRContext.h"
#include "mlir_service/Context.h"
#include "mlir_service/Kernel.h"
#include "tests/Statuses.h"
#include "tests/mlir_service/Programs.h"

namespace compiler_gym::mlir_service {
namespace {

class KernelTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(makeContext(context_).ok()); }

  grpc::Status parse(const std::string& text) { return parseKernel(text, *context_, kernel_); }

  std::unique_ptr<mlir::MLIRContext> context_;
  Kernel kernel_;
};

TEST_F(KernelTest, ReadsArguments) {
  ASSERT_TRUE(parse(kTwice).ok());
  ASSERT_EQ(kernel_.arguments.size(), 2);
  EXPECT_EQ(kernel_.arguments[0].type, ElementType::kF32);
  EXPECT_EQ(kernel_.arguments[0].shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(kernel_.arguments[0].bytes(), 128);
}

TEST_F(KernelTest, SaysWhereTheTextIsWrong) {
  EXPECT_THAT(parse("func.func @kernel() {\n  linalg.nothing\n}"),
              IsError(grpc::StatusCode::INVALID_ARGUMENT, "kernel.mlir\":2:3"));
}

TEST_F(KernelTest, RefusesModulesWithoutAKernel) {
  EXPECT_NE(parse("").error_message().find("@kernel"), std::string::npos);
  EXPECT_FALSE(parse("func.func private @kernel(memref<4xf32>)").ok());
  EXPECT_FALSE(parse("llvm.func @kernel(%a: !llvm.ptr) { llvm.return }").ok());
}

TEST_F(KernelTest, RefusesArgumentsThatAreNotBuffers) {
  for (const char* type : {"f32", "memref<?xf32>", "memref<4xf16>", "memref<4xi1>", "memref<0xf32>",
                           "memref<4xf32, strided<[2]>>", "memref<4xf32, 1>", "memref<*xf32>",
                           "tensor<4xf32>", "memref<9999999999x9999999999xf32>"}) {
    const std::string text = "func.func @kernel(%a: " + std::string(type) + ") { return }";
    EXPECT_EQ(parse(text).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << type;
  }
}

}  // namespace
}  // namespace compiler_gym::mlir_service
