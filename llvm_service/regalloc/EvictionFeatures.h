#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace compiler_gym::llvm_service {

/// The candidates of a question: registers in the order in which the allocator prefers them, and at
/// the end the choice to evict nothing.
constexpr size_t kEvictionCandidates = 33;
constexpr size_t kEvictNothing = kEvictionCandidates - 1;

/// A feature of an eviction, as LLVM computes it.
struct EvictionFeature {
  const char* name;
  const char* description;
  bool isInteger;
  /// True if there is a value for each candidate, false if there is one for the question.
  bool isOfCandidates = true;

  size_t size() const { return isOfCandidates ? kEvictionCandidates : 1; }
};

/// The features in the order in which LLVM sends them. The first is the mask of the candidates.
llvm::ArrayRef<EvictionFeature> evictionFeatures();

/// The number of values of all features of a question.
size_t evictionFeatureSize();

/// The values of all features of a question, one feature after the other.
///
/// @param tensors the bytes that LLVM sends.
std::vector<float> decodeEvictionFeatures(llvm::StringRef tensors);

/// The number of bytes that LLVM sends.
size_t evictionTensorBytes();

}  // namespace compiler_gym::llvm_service
