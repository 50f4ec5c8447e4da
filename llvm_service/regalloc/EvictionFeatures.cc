#include "llvm_service/regalloc/EvictionFeatures.h"

#include <cstdint>
#include <cstring>

namespace compiler_gym::llvm_service {

namespace {

constexpr EvictionFeature kFeatures[] = {
    {"mask", "1 if the candidate can be chosen", true},
    {"is_free", "1 if the register is free, so that nothing is evicted", true},
    {"nr_urgent", "live ranges that may be evicted only because the new one cannot be spilled",
     false},
    {"nr_broken_hints", "live ranges that would lose the register that they prefer", false},
    {"is_hint", "1 if the new live range prefers the register", true},
    {"is_local", "live ranges in one basic block that cannot move to another register", true},
    {"nr_rematerializable", "live ranges that can be computed again rather than spilled", false},
    {"nr_defs_and_uses", "definitions and uses of the live ranges", false},
    {"weighed_reads_by_max", "reads, weighted by the frequency of their blocks", false},
    {"weighed_writes_by_max", "writes, weighted by the frequency of their blocks", false},
    {"weighed_read_writes_by_max", "instructions that read and write, weighted likewise", false},
    {"weighed_indvars_by_max", "updates of induction variables, weighted likewise", false},
    {"hint_weights_by_max", "copies that a hint would save, weighted likewise", false},
    {"start_bb_freq_by_max", "frequency of the block where the live ranges begin", false},
    {"end_bb_freq_by_max", "frequency of the block where the live ranges end", false},
    {"hottest_bb_freq_by_max", "frequency of the hottest block with a use", false},
    {"liverange_size", "length of the live ranges", false},
    {"use_def_density", "largest spill weight of the live ranges, which LLVM's rule compares",
     false},
    {"max_stage", "the latest stage of allocation of the live ranges", true},
    {"min_stage", "the earliest stage of allocation of the live ranges", true},
    {"progress", "length of the allocator's queue, as a share of its first length", false, false},
};

size_t bytesOf(const EvictionFeature& feature) {
  return feature.size() * (feature.isInteger ? sizeof(int64_t) : sizeof(float));
}

}  // namespace

llvm::ArrayRef<EvictionFeature> evictionFeatures() { return kFeatures; }

size_t evictionFeatureSize() {
  size_t size = 0;
  for (const EvictionFeature& feature : kFeatures) size += feature.size();
  return size;
}

size_t evictionTensorBytes() {
  size_t bytes = 0;
  for (const EvictionFeature& feature : kFeatures) bytes += bytesOf(feature);
  return bytes;
}

std::vector<float> decodeEvictionFeatures(llvm::StringRef tensors) {
  std::vector<float> values;
  values.reserve(evictionFeatureSize());
  const char* next = tensors.data();
  for (const EvictionFeature& feature : kFeatures) {
    for (size_t i = 0; i < feature.size(); ++i) {
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
