#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace compiler_gym::llvm_service {

/// A decision of the register allocator that can be played.
enum class AllocatorDecision {
  /// Which live ranges give up their register to a new one.
  kEviction,
  /// The priority of a live range in the queue. The highest one is assigned a register first.
  kPriority,
};

/// The candidates of a question about an eviction: registers in the order in which the allocator
/// prefers them, and at the end the choice to evict nothing.
constexpr size_t kEvictionCandidates = 33;
constexpr size_t kEvictNothing = kEvictionCandidates - 1;

/// A feature of a question, as LLVM computes it.
struct AdvisorFeature {
  const char* name;
  const char* description;
  bool isInteger;
  /// The number of values. Most features of evictions have one for each candidate.
  size_t size;
};

/// The features of a question in the order in which LLVM sends them. The first one of evictions is
/// the mask of the candidates.
llvm::ArrayRef<AdvisorFeature> advisorFeatures(AllocatorDecision decision);

/// The number of values of all features of a question.
size_t advisorFeatureSize(AllocatorDecision decision);

/// The values of all features of a question, one feature after the other.
///
/// @param tensors the bytes that LLVM sends.
std::vector<float> decodeAdvisorFeatures(AllocatorDecision decision, llvm::StringRef tensors);

/// The number of bytes that LLVM sends.
size_t advisorTensorBytes(AllocatorDecision decision);

}  // namespace compiler_gym::llvm_service
