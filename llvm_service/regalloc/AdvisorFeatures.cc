#include "llvm_service/regalloc/AdvisorFeatures.h"

#include <cstdint>
#include <cstring>

namespace compiler_gym::llvm_service {

namespace {

constexpr size_t kPerCandidate = kEvictionCandidates;

constexpr AdvisorFeature kEvictionFeatures[] = {
    {"mask", "1 if the candidate can be chosen", true, kPerCandidate},
    {"is_free", "1 if the register is free, so that nothing is evicted", true, kPerCandidate},
    {"nr_urgent", "live ranges that may be evicted only because the new one cannot be spilled",
     false, kPerCandidate},
    {"nr_broken_hints", "live ranges that would lose the register that they prefer", false,
     kPerCandidate},
    {"is_hint", "1 if the new live range prefers the register", true, kPerCandidate},
    {"is_local", "live ranges in one basic block that cannot move to another register", true,
     kPerCandidate},
    {"nr_rematerializable", "live ranges that can be computed again rather than spilled", false,
     kPerCandidate},
    {"nr_defs_and_uses", "definitions and uses of the live ranges", false, kPerCandidate},
    {"weighed_reads_by_max", "reads, weighted by the frequency of their blocks", false,
     kPerCandidate},
    {"weighed_writes_by_max", "writes, weighted by the frequency of their blocks", false,
     kPerCandidate},
    {"weighed_read_writes_by_max", "instructions that read and write, weighted likewise", false,
     kPerCandidate},
    {"weighed_indvars_by_max", "updates of induction variables, weighted likewise", false,
     kPerCandidate},
    {"hint_weights_by_max", "copies that a hint would save, weighted likewise", false,
     kPerCandidate},
    {"start_bb_freq_by_max", "frequency of the block where the live ranges begin", false,
     kPerCandidate},
    {"end_bb_freq_by_max", "frequency of the block where the live ranges end", false,
     kPerCandidate},
    {"hottest_bb_freq_by_max", "frequency of the hottest block with a use", false, kPerCandidate},
    {"liverange_size", "length of the live ranges", false, kPerCandidate},
    {"use_def_density", "largest spill weight of the live ranges, which LLVM's rule compares",
     false, kPerCandidate},
    {"max_stage", "the latest stage of allocation of the live ranges", true, kPerCandidate},
    {"min_stage", "the earliest stage of allocation of the live ranges", true, kPerCandidate},
    {"progress", "length of the allocator's queue, as a share of its first length", false, 1},
};

constexpr AdvisorFeature kPriorityFeatures[] = {
    {"li_size", "length of the live range, about 16 for each instruction", true, 1},
    {"stage",
     "1 to assign a register, 2 and 3 to split the live range if none is free, 4 to spill it", true,
     1},
    {"weight", "spill weight of the live range", false, 1},
};

size_t bytesOf(const AdvisorFeature& feature) {
  return feature.size * (feature.isInteger ? sizeof(int64_t) : sizeof(float));
}

}  // namespace

llvm::ArrayRef<AdvisorFeature> advisorFeatures(AllocatorDecision decision) {
  if (decision == AllocatorDecision::kEviction) return kEvictionFeatures;
  return kPriorityFeatures;
}

size_t advisorFeatureSize(AllocatorDecision decision) {
  size_t size = 0;
  for (const AdvisorFeature& feature : advisorFeatures(decision)) size += feature.size;
  return size;
}

size_t advisorTensorBytes(AllocatorDecision decision) {
  size_t bytes = 0;
  for (const AdvisorFeature& feature : advisorFeatures(decision)) bytes += bytesOf(feature);
  return bytes;
}

std::vector<float> decodeAdvisorFeatures(AllocatorDecision decision, llvm::StringRef tensors) {
  std::vector<float> values;
  values.reserve(advisorFeatureSize(decision));
  const char* next = tensors.data();
  for (const AdvisorFeature& feature : advisorFeatures(decision)) {
    for (size_t i = 0; i < feature.size; ++i) {
      if (feature.isInteger) {
        int64_t value = 0;
        std::memcpy(&value, next, sizeof value);
        next += sizeof value;
        values.push_back(static_cast<float>(value));
      } else {
        next += sizeof(float);
        std::memcpy(&values.emplace_back(), next - sizeof(float), sizeof(float));
      }
    }
  }
  return values;
}

}  // namespace compiler_gym::llvm_service
