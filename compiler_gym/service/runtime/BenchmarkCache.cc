#include "compiler_gym/service/runtime/BenchmarkCache.h"

#include <glog/logging.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace compiler_gym::runtime {

BenchmarkCache::BenchmarkCache(size_t maxSizeInBytes, std::optional<std::mt19937_64> rand)
    : rand_(rand ? *std::move(rand) : std::mt19937_64(std::random_device()())),
      maxSizeInBytes_(maxSizeInBytes) {}

const Benchmark* BenchmarkCache::get(const std::string& uri) const { return find(uri).get(); }

std::shared_ptr<const Benchmark> BenchmarkCache::find(const std::string& uri) const {
  const std::shared_lock lock(mutex_);
  const auto found = benchmarks_.find(uri);
  return found == benchmarks_.end() ? nullptr : found->second.benchmark;
}

std::shared_ptr<const Benchmark> BenchmarkCache::add(Benchmark benchmark) {
  const auto added = std::make_shared<const Benchmark>(std::move(benchmark));
  const size_t itemSize = added->ByteSizeLong();
  VLOG(3) << "Adding benchmark " << added->uri() << " of " << itemSize << " bytes";

  const std::unique_lock lock(mutex_);
  remove(added->uri());
  if (itemSize > maxSizeInBytes_) {
    LOG(WARNING) << "The benchmark " << added->uri() << " of " << itemSize
                 << " bytes is larger than the whole cache of " << maxSizeInBytes_ << " bytes";
  }
  const size_t room = maxSizeInBytes_ - std::min(itemSize, maxSizeInBytes_);
  if (sizeInBytes_ > room) evict(std::min(room, maxSizeInBytes_ / 2));
  benchmarks_.emplace(added->uri(), Entry{added, itemSize, uris_.size()});
  uris_.push_back(added->uri());
  sizeInBytes_ += itemSize;
  return added;
}

size_t BenchmarkCache::size() const {
  const std::shared_lock lock(mutex_);
  return benchmarks_.size();
}

size_t BenchmarkCache::sizeInBytes() const {
  const std::shared_lock lock(mutex_);
  return sizeInBytes_;
}

size_t BenchmarkCache::maxSizeInBytes() const {
  const std::shared_lock lock(mutex_);
  return maxSizeInBytes_;
}

void BenchmarkCache::setMaxSizeInBytes(size_t maxSizeInBytes) {
  const std::unique_lock lock(mutex_);
  maxSizeInBytes_ = maxSizeInBytes;
  evict(maxSizeInBytes);
}

void BenchmarkCache::evictToCapacity(std::optional<size_t> targetSizeInBytes) {
  const std::unique_lock lock(mutex_);
  evict(targetSizeInBytes.value_or(maxSizeInBytes_ / 2));
}

void BenchmarkCache::remove(const std::string& uri) {
  const auto found = benchmarks_.find(uri);
  if (found == benchmarks_.end()) return;
  sizeInBytes_ -= found->second.sizeInBytes;
  // The last URI replaces the removed one.
  const size_t position = found->second.position;
  benchmarks_.erase(found);
  if (position + 1 != uris_.size()) {
    uris_[position] = std::move(uris_.back());
    benchmarks_.at(uris_[position]).position = position;
  }
  uris_.pop_back();
}

void BenchmarkCache::evict(size_t targetSizeInBytes) {
  const size_t countBefore = benchmarks_.size();
  const size_t sizeBefore = sizeInBytes_;
  while (sizeInBytes_ > targetSizeInBytes) {
    std::uniform_int_distribution<size_t> choose(0, uris_.size() - 1);
    remove(std::string(uris_[choose(rand_)]));
  }
  if (benchmarks_.size() < countBefore) {
    VLOG(2) << "Evicted " << countBefore - benchmarks_.size() << " of " << countBefore
            << " benchmarks, " << sizeBefore - sizeInBytes_ << " bytes";
  }
}

}  // namespace compiler_gym::runtime
