#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm_service/ChangeTracker.h"
#include "llvm_service/Ir.h"
#include "tests/Statuses.h"

// A constant that nothing uses any more is freed, and the next of its size gets its address.

namespace compiler_gym::llvm_service {
namespace {

using namespace llvm;

constexpr char kModule[] = R"(
@array = global [4 x i32] zeroinitializer
@number = global i64 0
@pointer = global ptr null
define void @f(i1 %c) {
  br i1 %c, label %1, label %2
1:
  ret void
2:
  ret void
}
)";

struct Replacement {
  const char* name;
  const char* variable;
  std::function<Constant*(Module&)> before;
  std::function<Constant*(Module&)> after;
};

Constant* array(Module& module) { return module.getNamedGlobal("array"); }

Constant* address(Module& module) {
  return ConstantExpr::getPtrToInt(array(module), Type::getInt64Ty(module.getContext()));
}

Constant* number(Module& module, uint64_t value) {
  return ConstantInt::get(Type::getInt64Ty(module.getContext()), value);
}

Constant* element(Module& module, Type* type, GEPNoWrapFlags flags,
                  std::optional<ConstantRange> range = std::nullopt) {
  return ConstantExpr::getGetElementPtr(type, array(module), number(module, 1), flags, range);
}

Constant* element(Module& module, Type* type) {
  return element(module, type, GEPNoWrapFlags::none());
}

Type* i8(Module& module) { return Type::getInt8Ty(module.getContext()); }

BlockAddress* label(Module& module, unsigned number) {
  return BlockAddress::get(&*std::next(module.getFunction("f")->begin(), number));
}

std::vector<Replacement> replacements() {
  return {
      {"Opcode", "number", [](Module& m) { return ConstantExpr::getAdd(address(m), number(m, 1)); },
       [](Module& m) { return ConstantExpr::getXor(address(m), number(m, 1)); }},
      {"Flags", "number", [](Module& m) { return ConstantExpr::getAdd(address(m), number(m, 1)); },
       [](Module& m) { return ConstantExpr::getAdd(address(m), number(m, 1), /*HasNUW=*/true); }},
      {"SourceType", "pointer", [](Module& m) { return element(m, i8(m)); },
       [](Module& m) { return element(m, Type::getInt16Ty(m.getContext())); }},
      {"AddressFlags", "pointer", [](Module& m) { return element(m, i8(m)); },
       [](Module& m) { return element(m, i8(m), GEPNoWrapFlags::inBounds()); }},
      {"Range", "pointer",
       [](Module& m) {
         return element(m, i8(m), GEPNoWrapFlags::none(),
                        ConstantRange(APInt(64, 0), APInt(64, 4)));
       },
       [](Module& m) {
         return element(m, i8(m), GEPNoWrapFlags::none(),
                        ConstantRange(APInt(64, 0), APInt(64, 8)));
       }},
      {"Label", "pointer", [](Module& m) { return label(m, 1); },
       [](Module& m) { return label(m, 2); }},
  };
}

void PrintTo(const Replacement& replacement, std::ostream* stream) { *stream << replacement.name; }

class ReusedConstantTest : public ::testing::TestWithParam<Replacement> {
 protected:
  void SetUp() override {
    ASSERT_THAT(parseIr(kModule, owned_), IsOk());
    placeholder_ = variable().getInitializer();
    variable().setInitializer(GetParam().before(module()));
    tracker_.emplace(module());
    bitcode_ = writeBitcode(module());
    address_ = address();
    Constant* freed = variable().getInitializer();
    variable().setInitializer(placeholder_);
    freed->destroyConstant();
  }

  Module& module() { return *owned_.module; }
  GlobalVariable& variable() { return *module().getNamedGlobal(GetParam().variable); }
  uintptr_t address() { return reinterpret_cast<uintptr_t>(variable().getInitializer()); }

  OwnedModule owned_;
  Constant* placeholder_ = nullptr;
  std::optional<ChangeTracker> tracker_;
  // Of the freed constant.
  std::string bitcode_;
  uintptr_t address_ = 0;
};

TEST_P(ReusedConstantTest, IsAChange) {
  variable().setInitializer(GetParam().after(module()));
// Sanitizers keep freed memory for a while, and LLVM 19 puts another object there.
#if !defined(COMPILER_GYM_SANITIZER) && LLVM_VERSION_MAJOR >= 22
  // The addresses of labels are elsewhere in LLVM 23.
  if (LLVM_VERSION_MAJOR < 23 || GetParam().name != StringRef("Label")) {
    ASSERT_EQ(address(), address_) << "The test shows nothing: another address";
  }
#endif
  ASSERT_NE(writeBitcode(module()), bitcode_) << "The change is not one";
  EXPECT_TRUE(tracker_->update(module()).changed);
}

TEST_P(ReusedConstantTest, RestoringTheSameConstantIsNoChange) {
  Constant* between = GetParam().after(module());  // Takes the address.
  variable().setInitializer(GetParam().before(module()));
  between->destroyConstant();
  ASSERT_NE(address(), address_);
  ASSERT_EQ(writeBitcode(module()), bitcode_);
  EXPECT_FALSE(tracker_->update(module()).changed);
}

INSTANTIATE_TEST_SUITE_P(Replacement, ReusedConstantTest, ::testing::ValuesIn(replacements()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace compiler_gym::llvm_service
