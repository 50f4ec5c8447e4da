// A cache of the programs of a service.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::runtime {

// Default limit of a cache: 256 MiB.
constexpr size_t kEvictionSizeInBytes = 256 * 1024 * 1024;

// Keeps Benchmark messages by URI up to a total size, measured as serialised bytes. When a new one
// does not fit, benchmarks chosen at random are evicted until the cache is at most half full and
// there is room. Clients send an evicted benchmark again when they need it.
//
// All methods may be called from any number of threads.
class BenchmarkCache {
 public:
  // `rand` chooses the benchmarks to evict; by default it is seeded from the system.
  explicit BenchmarkCache(size_t maxSizeInBytes = kEvictionSizeInBytes,
                          std::optional<std::mt19937_64> rand = std::nullopt);

  // The benchmark of this URI, or null. The pointer is valid until the next call of add(),
  // setMaxSizeInBytes() or evictToCapacity(): with several threads use find().
  const Benchmark* get(const std::string& uri) const;

  // Like get(), but the pointer keeps the benchmark alive after its eviction.
  std::shared_ptr<const Benchmark> find(const std::string& uri) const;

  // Inserts a benchmark, in place of any other of the same URI, after evicting others if it does
  // not fit. One that is larger than the whole cache is kept too, with a warning in the log. Pass
  // it by std::move() to avoid a copy. Returns the benchmark as find() would.
  std::shared_ptr<const Benchmark> add(Benchmark benchmark);

  // Number of benchmarks.
  size_t size() const;

  // Sum of the sizes of the benchmarks.
  size_t sizeInBytes() const;

  // The limit.
  size_t maxSizeInBytes() const;

  // Sets the limit, and evicts benchmarks until they fit.
  void setMaxSizeInBytes(size_t maxSizeInBytes);

  // Evicts benchmarks chosen at random until their total size is at most `targetSizeInBytes`, by
  // default half of the limit.
  void evictToCapacity(std::optional<size_t> targetSizeInBytes = std::nullopt);

 private:
  struct Entry {
    std::shared_ptr<const Benchmark> benchmark;
    size_t sizeInBytes;
    // The position of the URI in uris_.
    size_t position;
  };

  // These expect the caller to hold mutex_ for writing.
  void remove(const std::string& uri);
  void evict(size_t targetSizeInBytes);

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, Entry> benchmarks_;
  // The keys of benchmarks_, so that one can be chosen at random in constant time.
  std::vector<std::string> uris_;
  std::mt19937_64 rand_;
  size_t maxSizeInBytes_;
  size_t sizeInBytes_ = 0;
};

}  // namespace compiler_gym::runtime
