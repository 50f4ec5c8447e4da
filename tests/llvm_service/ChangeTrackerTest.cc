#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm_service/ChangeTracker.h"
#include "llvm_service/Ir.h"
#include "llvm_service/LlvmCompatibility.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/RandomWalk.h"

namespace compiler_gym::llvm_service {
namespace {

using namespace llvm;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST_F(ChangeTrackerTest, ChangedBody) {
  instruction(f(), 0).setHasNoUnsignedWrap(true);
  const ModuleChange& change = look();
  EXPECT_TRUE(change.changed);
  EXPECT_THAT(change.functionsChanged, ElementsAre("f"));
  EXPECT_THAT(change.functionsAdded, IsEmpty());
  EXPECT_THAT(change.functionsRemoved, IsEmpty());
  EXPECT_FALSE(look().changed);
  EXPECT_THAT(tracker_->lastChange().functionsChanged, IsEmpty());
}

TEST_F(ChangeTrackerTest, ChangedAttributeOfADeclaration) {
  module().getFunction("callee")->setDoesNotThrow();
  EXPECT_TRUE(look().changed);
  EXPECT_THAT(tracker_->lastChange().functionsChanged, ElementsAre("callee"));
}

TEST_F(ChangeTrackerTest, AddedAndRemovedFunctions) {
  module().getFunction("g")->eraseFromParent();
  Function::Create(f().getFunctionType(), GlobalValue::ExternalLinkage, "h", module());
  const ModuleChange& change = look();
  EXPECT_TRUE(change.changed);
  EXPECT_THAT(change.functionsChanged, IsEmpty());
  EXPECT_THAT(change.functionsAdded, ElementsAre("h"));
  EXPECT_THAT(change.functionsRemoved, ElementsAre("g"));
  EXPECT_EQ(change.instructionsBefore, 7u);
  EXPECT_EQ(change.instructionsAfter, 4u);
}

// A pass that makes an instruction anew as it was has not changed anything.
TEST_F(ChangeTrackerTest, InstructionReplacedByItsClone) {
  Instruction& old = instruction(f(), 0);
  Instruction* copy = old.clone();
  copy->insertBefore(old.getIterator());
  // One after the other, so that the uses are listed in the same order.
  old.replaceAllUsesWith(copy);
  copy->reverseUseList();
  old.eraseFromParent();
  if (writeBitcode(module()) != bitcode_) {
    copy->reverseUseList();
  }
  ASSERT_EQ(writeBitcode(module()), bitcode_) << "It is not as it was";
  EXPECT_FALSE(look().changed);
  EXPECT_THAT(tracker_->lastChange().functionsChanged, IsEmpty());
}

// As globaldce does: constants that nothing refers to any more are not part of the module.
TEST_F(ChangeTrackerTest, UnusedConstantDropped) {
  GlobalVariable& array = *module().getGlobalVariable("array", /*AllowInternal=*/true);
  LLVMContext& context = module().getContext();
  Constant* unused = ConstantExpr::getGetElementPtr(Type::getInt8Ty(context), &array,
                                                    ConstantInt::get(Type::getInt64Ty(context), 8));
  ASSERT_TRUE(unused->use_empty());
  EXPECT_FALSE(look().changed);
  array.removeDeadConstantUsers();
  EXPECT_FALSE(look().changed);
}

TEST_F(ChangeTrackerTest, OrderOfUsesOfAFunction) {
  module().getFunction("callee")->reverseUseList();
  const ModuleChange& change = look();
  EXPECT_TRUE(change.changed);
  EXPECT_THAT(change.functionsChanged, IsEmpty());
}

TEST_F(ChangeTrackerTest, OrderOfUsesInAFunction) {
  instruction(f(), 0).reverseUseList();
  EXPECT_TRUE(look().changed);
  EXPECT_THAT(tracker_->lastChange().functionsChanged, ElementsAre("f"));
}

// Some passes change a function and say that they preserve all analyses.
TEST_F(ChangeTrackerTest, FollowedPassesThatClaimToChangeNothing) {
  for (const bool claimsNoChange : {true, false}) {
    tracker_->follow();
    tracker_->passDone(claimsNoChange);
    instruction(f(), 0).setHasNoUnsignedWrap(!instruction(f(), 0).hasNoUnsignedWrap());
    tracker_->functionDone(f());
    EXPECT_TRUE(look().changed);
    EXPECT_THAT(tracker_->lastChange().functionsChanged, ElementsAre("f"));
  }
}

// Followed passes that move uses to the beginning of the lists of a function, a constant, or the
// variable of which the constant is an address. The tracker is told of the functions alone.
TEST_F(ChangeTrackerTest, FollowedOrderOfUses) {
  Function& callee = *module().getFunction("callee");
  Value* address = instruction(g(), 0).getOperand(0);
  ASSERT_TRUE(isa<ConstantExpr>(address));
  instruction(f(), 2).setOperand(0, ConstantInt::get(Type::getInt32Ty(module().getContext()), 5));
  IRBuilder<> builder(&instruction(f(), 0));
  Instruction& load = *builder.CreateLoad(Type::getInt32Ty(module().getContext()), address);
  look();

  const auto moveCall = [&](Function& function) {
    auto& call = cast<CallBase>(*std::prev(function.back().end(), 2));
    call.setCalledOperand(PoisonValue::get(call.getCalledOperand()->getType()));
    call.setCalledOperand(&callee);
  };
  const auto moveAddress = [&](Instruction& instruction) {
    instruction.setOperand(0, PoisonValue::get(address->getType()));
    instruction.setOperand(0, address);
  };
  const auto remakeAddress = [&] {
    Use& use = cast<User>(address)->getOperandUse(0);
    Value* variable = use.get();
    use.set(PoisonValue::get(variable->getType()));
    use.set(variable);
  };
  const std::function<void()> inF[] = {[&] { moveCall(f()); }, [&] { moveAddress(load); },
                                       [&] { remakeAddress(); }, [] {}, [] {}};
  const std::function<void()> inG[] = {[&] { moveCall(g()); },
                                       [&] { moveAddress(instruction(g(), 0)); },
                                       [&] { remakeAddress(); }, [] {}, [] {}};
  std::mt19937 random(3);
  int changes = 0;
  for (int step = 0; step < 200; ++step) {
    tracker_->follow();
    inF[random() % std::size(inF)]();
    tracker_->functionDone(f());
    if (random() % 2 == 0) {
      inG[random() % std::size(inG)]();
      tracker_->functionDone(g());
    }
    changes += look().changed;
    if (random() % 2 == 0) {
      tracker_->instructions();
    }
    tracker_->catchUp();
  }
  EXPECT_GT(changes, 20);
  EXPECT_LT(changes, 180);
}

TEST_F(ChangeTrackerTest, VerdictBeforeTheNames) {
  EXPECT_FALSE(tracker_->beginUpdate(module()));
  EXPECT_FALSE(tracker_->completeUpdate().changed);
  const uint64_t version = tracker_->functions()[1].version;
  const uint64_t versionOfOther = tracker_->functions()[2].version;
  ASSERT_EQ(tracker_->functions()[1].name, "f");

  instruction(f(), 0).setHasNoUnsignedWrap(true);
  EXPECT_TRUE(tracker_->beginUpdate(module()));
  EXPECT_THAT(tracker_->lastChange().functionsChanged, IsEmpty());
  EXPECT_GT(tracker_->functions()[1].version, version);
  EXPECT_EQ(tracker_->functions()[2].version, versionOfOther);
  const uint64_t newVersion = tracker_->functions()[1].version;
  EXPECT_THAT(tracker_->completeUpdate().functionsChanged, ElementsAre("f"));
  EXPECT_EQ(tracker_->functions()[1].version, newVersion);
  EXPECT_FALSE(tracker_->beginUpdate(module()));
}

// The order of uses is known from the whole content only.
TEST_F(ChangeTrackerTest, VerdictWithTheNames) {
  instruction(f(), 0).reverseUseList();
  EXPECT_TRUE(tracker_->beginUpdate(module()));
  EXPECT_THAT(tracker_->lastChange().functionsChanged, ElementsAre("f"));
}

// Nobody wanted to know more of the last change than that there was one.
class RestLeftTest : public ChangeTrackerTest {
 protected:
  void SetUp() override {
    ChangeTrackerTest::SetUp();
    instruction(f(), 1).setHasNoUnsignedWrap(true);
    EXPECT_TRUE(look().changed);
    tracker_->catchUp();
    tracker_->follow();
  }

  void setFlagInF(bool value) {
    instruction(f(), 0).setHasNoUnsignedWrap(value);
    tracker_->functionDone(f());
  }

  void alignLoadInG(uint64_t bytes) {
    cast<LoadInst>(instruction(g(), 0)).setAlignment(Align(bytes));
    tracker_->functionDone(g());
  }

  void addInstructionToG() {
    Instruction& load = instruction(g(), 0);
    BinaryOperator::CreateNeg(&load, "", std::next(load.getIterator()));
    tracker_->functionDone(g());
  }
};

TEST_F(RestLeftTest, NamesFollowIfNoFunctionWasFollowed) {
  setFlagInF(true);
  addInstructionToG();
  tracker_->moduleDone();
  EXPECT_TRUE(tracker_->beginUpdate(module()));
  EXPECT_THAT(tracker_->lastChange().functionsChanged, IsEmpty());
  const ModuleChange& change = tracker_->completeUpdate();
  EXPECT_THAT(change.functionsChanged, ElementsAre("f", "g"));
  EXPECT_EQ(change.instructionsAfter, 8u);
}

TEST_F(RestLeftTest, InstructionsAndVersionsAreCurrent) {
  const uint64_t version = tracker_->functions()[2].version;
  ASSERT_EQ(tracker_->functions()[2].name, "g");
  setFlagInF(true);
  addInstructionToG();
  EXPECT_TRUE(tracker_->beginUpdate(module()));
  EXPECT_EQ(tracker_->instructions(), 8u);
  EXPECT_GT(tracker_->functions()[2].version, version);
  EXPECT_THAT(tracker_->completeUpdate().functionsChanged, ElementsAre("f", "g"));
}

TEST_F(RestLeftTest, ChangeIsTakenBack) {
  setFlagInF(true);
  tracker_->functionDone(g());
  setFlagInF(false);
  EXPECT_FALSE(look().changed);
}

TEST_F(RestLeftTest, OneOfTwoChangesIsTakenBack) {
  setFlagInF(true);
  alignLoadInG(8);
  setFlagInF(false);
  EXPECT_THAT(look().functionsChanged, ElementsAre("g"));
}

TEST_F(RestLeftTest, HeaderIsAnotherToo) {
  setFlagInF(true);
  g().setName("h");
  const ModuleChange& change = look();
  EXPECT_THAT(change.functionsChanged, ElementsAre("f"));
  EXPECT_THAT(change.functionsAdded, ElementsAre("h"));
  EXPECT_THAT(change.functionsRemoved, ElementsAre("g"));
}

TEST_F(RestLeftTest, FunctionIsRemoved) {
  setFlagInF(true);
  g().eraseFromParent();
  EXPECT_TRUE(tracker_->beginUpdate(module()));
  EXPECT_THAT(tracker_->lastChange().functionsRemoved, IsEmpty());
  const ModuleChange& change = tracker_->completeUpdate();
  EXPECT_THAT(change.functionsChanged, ElementsAre("f"));
  EXPECT_THAT(change.functionsRemoved, ElementsAre("g"));
}

// In LLVMs in which they have one.
TEST_F(ChangeTrackerTest, OrderOfUsesOfAPlainConstant) {
  Value& one = *instruction(f(), 0).getOperand(1);
  ASSERT_TRUE(isa<ConstantInt>(one));
  instruction(f(), 1).setOperand(1, &one);
  EXPECT_TRUE(look().changed);
  if (kPlainConstantsHaveUses<>) {
    one.reverseUseList();
  }
  EXPECT_EQ(look().changed, kPlainConstantsHaveUses<>);
  EXPECT_THAT(tracker_->lastChange().functionsChanged, IsEmpty());
}

TEST_F(ChangeTrackerTest, FunctionsWithoutName) {
  f().setName("");
  module().getFunction("g")->setName("");
  const ModuleChange& change = look();
  EXPECT_TRUE(change.changed);
  EXPECT_THAT(change.functionsAdded, ElementsAre("<unnamed 0>", "<unnamed 1>"));
  EXPECT_THAT(change.functionsRemoved, ElementsAre("f", "g"));
  EXPECT_FALSE(look().changed);
}

TEST(ChangeTrackerPassTest, DeletedBlockWhoseAddressIsInAnotherFunction) {
  const auto compilation = startCompilation(R"(
define ptr @g() {
  ret ptr blockaddress(@f, %b)
}
define i32 @f(i32 %x) {
  ret i32 %x
b:
  ret i32 7
}
)");
  EXPECT_TRUE(applyPass(*compilation, "function(simplifycfg)"));
  EXPECT_THAT(compilation->lastChange().functionsChanged, ElementsAre("g", "f"));
}

// What the tracker is for, with the bitcode as the judge.
TEST(ChangeTrackerWalkTest, VerdictIsThatOfTheBitcode) {
  std::string before;
  const Compilation* current = nullptr;
  // Looks at all of the module after each step.
  std::optional<ChangeTracker> thorough;
  int changes = 0;
  const int steps =
      randomWalk(30, [&](Compilation& compilation, bool changed, const std::string& step) {
        if (&compilation != current || compilation.history().size() == 1) {
          current = &compilation;
          before = compilation.program().bitcode();
          thorough.reset();
        }
        std::string after = writeBitcode(compilation.module());
        EXPECT_EQ(changed, after != before) << step;
        // Otherwise the tracker completes its update at the next step.
        const bool asksForDetails = compilation.history().size() % 3 != 0;
        // The tracker leaves more if nobody has asked for instructions.
        if (compilation.history().size() % 4 < 2) {
          EXPECT_EQ(compilation.instructionCount(), compilation.module().getInstructionCount());
        }
        if (compilation.history().size() % 5 < 3) {
          compilation.catchUp();
        }
        if (thorough && !asksForDetails) {
          thorough->update(compilation.module());
        } else if (thorough) {
          const ModuleChange& change = compilation.lastChange();
          EXPECT_EQ(change.changed, changed) << step;
          EXPECT_EQ(change.instructionsAfter, compilation.instructionCount()) << step;
          const ModuleChange& all = thorough->update(compilation.module());
          EXPECT_EQ(change.changed, all.changed) << step;
          EXPECT_EQ(change.functionsChanged, all.functionsChanged) << step;
          EXPECT_EQ(change.functionsAdded, all.functionsAdded) << step;
          EXPECT_EQ(change.functionsRemoved, all.functionsRemoved) << step;
        } else {
          thorough.emplace(compilation.module());
        }
        changes += changed;
        before = std::move(after);
      });
  EXPECT_GT(changes, steps / 10);
  EXPECT_LT(changes, steps * 9 / 10);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
