#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace compiler_gym::llvm_service {

/// Costs that have been computed, known to this process and to all that are forked from it later,
/// in both directions: what a session's process finds out about a program need not be computed
/// again by the next.
///
/// It also counts how the costs of baselines became known.
///
/// A table of fixed size that forgets old entries for new ones. Entries carry a checksum, so one
/// that a process in trouble has written over is not found rather than wrong. May be used by any
/// number of threads and processes.
class SharedCosts {
 public:
  SharedCosts();
  ~SharedCosts();
  SharedCosts(const SharedCosts&) = delete;
  SharedCosts& operator=(const SharedCosts&) = delete;

  /// The key of a cost: the program and the kind of cost.
  struct Key {
    Key(llvm::StringRef bitcode, llvm::StringRef name);

    uint64_t low;
    uint64_t high;
  };

  std::optional<int64_t> find(const Key& key) const;
  void insert(const Key& key, int64_t value);

  void countComputedBaseline() { ++table_->computedBaselines; }
  void countReadBaseline() { ++table_->readBaselines; }
  uint64_t computedBaselines() const { return table_->computedBaselines; }
  uint64_t readBaselines() const { return table_->readBaselines; }

 private:
  struct Entry {
    std::atomic<uint64_t> low;
    std::atomic<uint64_t> high;
    std::atomic<int64_t> value;
    std::atomic<uint64_t> checksum;
  };

  // 512 KiB of entries.
  static constexpr size_t kEntries = 16384;
  // The number of slots, counted from the first, in which the entry of a key can be.
  static constexpr size_t kPlaces = 8;

  struct Table {
    std::atomic<uint64_t> computedBaselines;
    std::atomic<uint64_t> readBaselines;
    std::array<Entry, kEntries> entries;
  };

  Entry& place(const Key& key, size_t number) const;

  Table* const table_;
};

}  // namespace compiler_gym::llvm_service
