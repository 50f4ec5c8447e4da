// Tests that an action reports a change exactly if the text of the module is different.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "llvm/Support/raw_ostream.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir_service/Compilation.h"
#include "tests/Statuses.h"
#include "tests/mlir_service/Programs.h"

namespace compiler_gym::mlir_service {
namespace {

using Edit = std::function<void(mlir::ModuleOp)>;

constexpr char kThreeBlocks[] = R"(
func.func @kernel(%a: memref<4x8xf32>) {
  cf.br ^middle
^middle:
  cf.br ^last
^last:
  return
}
)";

/// The effect of the pass "edit".
Edit& currentEdit() {
  static Edit edit;
  return edit;
}

struct EditPass : mlir::PassWrapper<EditPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EditPass)

  llvm::StringRef getArgument() const final { return "edit"; }
  void runOnOperation() final { currentEdit()(getOperation()); }
};

/// The first operation with this name.
mlir::Operation* find(mlir::ModuleOp module, llvm::StringRef name) {
  mlir::Operation* found = nullptr;
  module->walk([&](mlir::Operation* operation) {
    if (found == nullptr && operation->getName().getStringRef() == name) found = operation;
  });
  EXPECT_NE(found, nullptr) << name.str();
  return found;
}

mlir::Operation* firstSum(mlir::ModuleOp module) { return find(module, "arith.addf"); }

/// Inserts an operation with the same operands, attributes and results before `like`.
mlir::Operation* insert(llvm::StringRef name, mlir::Operation* like) {
  mlir::OpBuilder builder(like);
  const mlir::OperationState state(like->getLoc(), name, like->getOperands(),
                                   like->getResultTypes(), like->getAttrs());
  return builder.create(state);
}

class ChangesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { const mlir::PassRegistration<EditPass> registration; }

  void SetUp() override { start(kTwice); }

  void start(const std::string& program) {
    ASSERT_THAT(Compilation::start(program, compilation_), IsOk());
  }

  /// Runs a pass with this effect. Returns true if a change was reported.
  bool changes(const Edit& edit) {
    currentEdit() = edit;
    bool changed = false;
    EXPECT_THAT(compilation_->apply("edit", changed), IsOk());
    std::string text;
    llvm::raw_string_ostream stream(text);
    compilation_->module().print(stream);
    stream << '\n';
    EXPECT_EQ(compilation_->ir(), text);
    return changed;
  }

  std::unique_ptr<Compilation> compilation_;
};

TEST_F(ChangesTest, Nothing) {
  EXPECT_FALSE(changes([](mlir::ModuleOp) {}));
}

TEST_F(ChangesTest, NothingThatIsPrinted) {
  EXPECT_FALSE(changes([](mlir::ModuleOp module) {
    firstSum(module)->setLoc(mlir::UnknownLoc::get(module.getContext()));
  }));
}

TEST_F(ChangesTest, EqualOperation) {
  EXPECT_FALSE(changes([](mlir::ModuleOp module) {
    mlir::Operation* const sum = firstSum(module);
    sum->replaceAllUsesWith(insert("arith.addf", sum));
    sum->erase();
  }));
}

TEST_F(ChangesTest, Attribute) {
  EXPECT_TRUE(changes([](mlir::ModuleOp module) {
    find(module, "linalg.yield")->setAttr("note", mlir::UnitAttr::get(module.getContext()));
  }));
}

TEST_F(ChangesTest, Property) {
  EXPECT_TRUE(changes([](mlir::ModuleOp module) {
    const mlir::Attribute fast = mlir::parseAttribute("#arith.fastmath<fast>", module.getContext());
    firstSum(module)->setAttr("fastmath", fast);
  }));
}

TEST_F(ChangesTest, AdditionalOperation) {
  EXPECT_TRUE(changes([](mlir::ModuleOp module) { insert("arith.addf", firstSum(module)); }));
}

TEST_F(ChangesTest, OtherOperation) {
  EXPECT_TRUE(changes([](mlir::ModuleOp module) {
    mlir::Operation* const sum = firstSum(module);
    sum->replaceAllUsesWith(insert("arith.mulf", sum));
    sum->erase();
  }));
}

/// Replaces a sum by a difference. Returns true if that is at the address of the sum, as it is most
/// of the time: the allocator reuses the memory of the last operation that was deleted.
bool replaceInPlace(mlir::ModuleOp module) {
  mlir::Operation* const sum = firstSum(module);
  // These use up other free memory of their size.
  std::vector<mlir::Operation*> products;
  for (int i = 0; i < 1000; ++i) products.push_back(insert("arith.mulf", sum));
  sum->replaceAllUsesWith(products.back());
  sum->erase();
  mlir::Operation* const difference = insert("arith.subf", products.back());
  products.back()->replaceAllUsesWith(difference);
  for (mlir::Operation* product : products) product->erase();
  return difference == sum;
}

TEST_F(ChangesTest, OtherOperationAtTheSameAddress) {
  bool isInPlace = false;
  for (int attempt = 0; attempt < 10 && !isInPlace; ++attempt) {
    start(kTwice);
    EXPECT_TRUE(changes([&](mlir::ModuleOp module) { isInPlace = replaceInPlace(module); }));
  }
  if (!isInPlace) GTEST_SKIP() << "The allocator does not reuse memory soon";
}

TEST_F(ChangesTest, Operand) {
  EXPECT_TRUE(changes([](mlir::ModuleOp module) {
    mlir::Operation* const yield = find(module, "linalg.yield");
    yield->setOperand(0, firstSum(module)->getResult(0));
  }));
}

TEST_F(ChangesTest, OrderOfOperations) {
  EXPECT_TRUE(changes([](mlir::ModuleOp module) { insert("arith.mulf", firstSum(module)); }));
  EXPECT_TRUE(changes(
      [](mlir::ModuleOp module) { find(module, "arith.mulf")->moveAfter(firstSum(module)); }));
}

TEST_F(ChangesTest, OrderOfBlocks) {
  start(kThreeBlocks);
  EXPECT_TRUE(changes([](mlir::ModuleOp module) {
    mlir::Block* const last = find(module, "func.return")->getBlock();
    last->moveBefore(last->getPrevNode());
  }));
}

}  // namespace
}  // namespace compiler_gym::mlir_service
