#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "llvm_service/ChangeTracker.h"
#include "llvm_service/Ir.h"
#include "tests/llvm_service/Statuses.h"

namespace compiler_gym::llvm_service {

constexpr char kModule[] = R"(
@array = internal global [4 x i32] zeroinitializer
declare i32 @callee(i32)
define i32 @f(i32 %a) {
  %sum = add i32 %a, 1
  %product = mul i32 %sum, %sum
  %result = call i32 @callee(i32 %product)
  ret i32 %result
}
define i32 @g() {
  %value = load i32, ptr getelementptr (i8, ptr @array, i64 4)
  %other = call i32 @callee(i32 %value)
  ret i32 %other
}
)";

/// A tracker of a small module, which a test changes itself.
class ChangeTrackerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(parseIr(kModule, owned_), IsOk());
    tracker_.emplace(module());
    bitcode_ = writeBitcode(module());
  }

  llvm::Module& module() { return *owned_.module; }
  llvm::Function& f() { return *module().getFunction("f"); }
  llvm::Function& g() { return *module().getFunction("g"); }
  llvm::Instruction& instruction(llvm::Function& function, int number) {
    return *std::next(function.front().begin(), number);
  }

  /// Returns what the tracker says about a change, which the bitcode has to confirm.
  const ModuleChange& look() {
    const ModuleChange& change = tracker_->update(module());
    std::string bitcode = writeBitcode(module());
    EXPECT_EQ(change.changed, bitcode != bitcode_);
    bitcode_ = std::move(bitcode);
    return change;
  }

  OwnedModule owned_;
  std::optional<ChangeTracker> tracker_;
  std::string bitcode_;
};

}  // namespace compiler_gym::llvm_service
