#include "mlir_service/observations/LoopNest.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace compiler_gym::mlir_service {

namespace {

constexpr size_t kFirstTripCount = 12;
constexpr size_t kFirstRange = 18;
constexpr size_t kListedLoops = 6;

bool isLoop(mlir::Operation* op) {
  return llvm::isa<mlir::scf::ForOp, mlir::affine::AffineForOp>(op);
}

/// The same number by two names: MLIR 23 has it in the loop itself, and up to 22 beside it.
template <typename Loop>
std::optional<int64_t> constantTripCount(Loop loop) {
  using InTheLoop = std::optional<llvm::APInt> (Loop::*)();
  if constexpr (std::is_same_v<decltype(&Loop::getStaticTripCount), InTheLoop>) {
    const auto count = loop.getStaticTripCount();
    return count ? std::optional(count->getSExtValue()) : std::nullopt;
  } else {
    return getConstantTripCount(loop);
  }
}

int64_t tripCount(mlir::Operation* op) {
  if (auto loop = llvm::dyn_cast<mlir::affine::AffineForOp>(op)) {
    return constantTripCount(loop).value_or(-1);
  }
  auto loop = llvm::cast<mlir::scf::ForOp>(op);
  const auto low = mlir::getConstantIntValue(loop.getLowerBound());
  const auto high = mlir::getConstantIntValue(loop.getUpperBound());
  const auto step = mlir::getConstantIntValue(loop.getStep());
  if (!low || !high || !step || *step <= 0) return -1;
  return *high <= *low ? 0 : (*high - *low + *step - 1) / *step;
}

/// Returns a loop and those around it, outermost first.
std::vector<mlir::Operation*> nestOf(mlir::Operation* loop) {
  std::vector<mlir::Operation*> nest;
  for (; loop != nullptr; loop = loop->getParentOp()) {
    if (isLoop(loop)) nest.insert(nest.begin(), loop);
  }
  return nest;
}

/// Returns the iterations of a linalg operation, or 0 if they are unknown.
int64_t roundsOf(mlir::linalg::LinalgOp op) {
  int64_t rounds = 1;
  for (int64_t range : op.getStaticLoopRanges()) {
    if (mlir::ShapedType::isDynamic(range)) return 0;
    rounds *= range;
  }
  return rounds;
}

/// Collects the features of one operation after the other.
class Collector {
 public:
  void add(mlir::Operation* op) {
    ++features_[11];
    if (isLoop(op)) addLoop(op);
    if (auto linalg = llvm::dyn_cast<mlir::linalg::LinalgOp>(op)) addLinalg(linalg);
    addVectors(op);
    using namespace mlir;
    if (isa<memref::LoadOp, memref::StoreOp, affine::AffineLoadOp, affine::AffineStoreOp>(op)) {
      ++features_[7];
    }
    if (isa<vector::TransferReadOp, vector::TransferWriteOp, vector::LoadOp, vector::StoreOp,
            affine::AffineVectorLoadOp, affine::AffineVectorStoreOp>(op)) {
      ++features_[8];
    }
    if (isa<vector::ContractionOp, vector::MultiDimReductionOp, vector::ReductionOp,
            vector::OuterProductOp, vector::FMAOp>(op)) {
      ++features_[9];
    }
    if (isa<memref::AllocOp, memref::AllocaOp>(op)) ++features_[10];
  }

  std::vector<int64_t> features() {
    for (size_t i = 0; i < std::min(deepest_.size(), kListedLoops); ++i) {
      features_[kFirstTripCount + i] = tripCount(deepest_[i]);
    }
    return features_;
  }

 private:
  void addLoop(mlir::Operation* op) {
    ++features_[0];
    std::vector<mlir::Operation*> nest = nestOf(op);
    const bool hasInner = op->walk([op](mlir::Operation* inner) {
                              return inner != op && isLoop(inner) ? mlir::WalkResult::interrupt()
                                                                  : mlir::WalkResult::advance();
                            }).wasInterrupted();
    if (!hasInner) ++features_[2];
    if (nest.size() > deepest_.size()) deepest_ = std::move(nest);
    features_[1] = static_cast<int64_t>(deepest_.size());
  }

  void addLinalg(mlir::linalg::LinalgOp op) {
    ++features_[3];
    const int64_t rounds = roundsOf(op);
    if (features_[3] > 1 && rounds <= features_[4]) return;
    features_[4] = rounds;
    const auto ranges = op.getStaticLoopRanges();
    for (size_t i = 0; i < kListedLoops; ++i) {
      const int64_t range = i < ranges.size() ? ranges[i] : 0;
      features_[kFirstRange + i] = mlir::ShapedType::isDynamic(range) ? -1 : range;
    }
  }

  void addVectors(mlir::Operation* op) {
    bool has = false;
    const auto look = [&](mlir::Type type) {
      auto vector = llvm::dyn_cast<mlir::VectorType>(type);
      if (!vector) return;
      has = true;
      features_[6] = std::max(features_[6], vector.getNumElements());
    };
    for (mlir::Type type : op->getOperandTypes()) look(type);
    for (mlir::Type type : op->getResultTypes()) look(type);
    if (has) ++features_[5];
  }

  std::vector<int64_t> features_ = std::vector<int64_t>(kLoopFeatures);
  std::vector<mlir::Operation*> deepest_;
};

}  // namespace

std::vector<int64_t> loopNest(mlir::ModuleOp module) {
  Collector collector;
  module.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    // The features of the linalg operation cover its body.
    collector.add(op);
    return llvm::isa<mlir::linalg::LinalgOp>(op) ? mlir::WalkResult::skip()
                                                 : mlir::WalkResult::advance();
  });
  return collector.features();
}

const std::vector<std::string>& countedDialects() {
  static const std::vector<std::string> names = {"affine", "arith",  "cf",  "func",   "linalg",
                                                 "math",   "memref", "scf", "vector", "other"};
  return names;
}

std::map<std::string, int64_t> countOps(mlir::ModuleOp module) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : countedDialects()) counts[name] = 0;
  module.walk([&](mlir::Operation* op) {
    const auto found = counts.find(op->getName().getDialectNamespace().str());
    ++(found == counts.end() ? counts["other"] : found->second);
  });
  return counts;
}

}  // namespace compiler_gym::mlir_service
