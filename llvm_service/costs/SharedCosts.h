#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace compiler_gym::llvm_service {

/// A cache of costs that this process shares with all later forks, in both directions: a cost that
/// one session computed is available to the next ones.
///
/// It also counts the costs of baselines by source.
///
/// The table has a fixed size, and new entries replace old ones. Entries have a checksum, so an
/// entry that a faulty process has overwritten is ignored. Safe for use by threads and processes.
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
