#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "compiler_gym/service/runtime/BenchmarkCache.h"

namespace compiler_gym::runtime {
namespace {

using ::testing::HasSubstr;

// A benchmark of exactly `size` serialised bytes.
Benchmark makeBenchmark(const std::string& uri, size_t size) {
  Benchmark benchmark;
  benchmark.set_uri(uri);
  benchmark.mutable_program()->set_contents("");
  const size_t empty = benchmark.ByteSizeLong();
  for (size_t length = size - empty; benchmark.ByteSizeLong() != size; --length) {
    benchmark.mutable_program()->set_contents(std::string(length, 'x'));
  }
  return benchmark;
}

// The URIs 0 to 99 that a cache still holds.
std::vector<int> survivors(const BenchmarkCache& cache) {
  std::vector<int> numbers;
  for (int i = 0; i < 100; ++i) {
    if (cache.get(std::to_string(i))) numbers.push_back(i);
  }
  return numbers;
}

TEST(BenchmarkCache, EvictsToHalfWhenFull) {
  BenchmarkCache cache(100);
  for (const char* uri : {"a", "b", "c", "d", "e"}) cache.add(makeBenchmark(uri, 25));
  EXPECT_EQ(cache.size(), 3) << "two of four are left, and the new one";
  EXPECT_NE(cache.get("e"), nullptr);
  EXPECT_EQ(cache.sizeInBytes(), 75);
}

TEST(BenchmarkCache, WarnsButKeepsABenchmarkLargerThanTheLimit) {
  BenchmarkCache cache(100);
  cache.add(makeBenchmark("a", 50));
  ::testing::internal::CaptureStderr();
  cache.add(makeBenchmark("huge", 200));
  // Warnings reach stderr as long as logging was not initialised.
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("huge of 200 bytes is larger than the whole cache of 100 bytes"));
  EXPECT_NE(cache.get("huge"), nullptr);
  EXPECT_EQ(cache.size(), 1);
  cache.add(makeBenchmark("b", 50));
  EXPECT_EQ(cache.get("huge"), nullptr);
  EXPECT_EQ(cache.sizeInBytes(), 50);
}

TEST(BenchmarkCache, SeedDecidesTheEviction) {
  const auto survivorsOf = [](uint64_t seed) {
    BenchmarkCache cache(100 * 25, std::mt19937_64(seed));
    for (int i = 0; i < 100; ++i) cache.add(makeBenchmark(std::to_string(i), 25));
    cache.evictToCapacity();
    return survivors(cache);
  };
  EXPECT_EQ(survivorsOf(1).size(), 50);
  EXPECT_EQ(survivorsOf(1), survivorsOf(1));
  EXPECT_NE(survivorsOf(1), survivorsOf(2));
}

TEST(BenchmarkCache, ManyThreads) {
  BenchmarkCache cache(1000);
  std::atomic<int> mismatches = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache, &mismatches, thread] {
      for (int i = 0; i < 500; ++i) {
        const std::string uri = std::to_string((i * (thread + 1)) % 50);
        if (cache.add(makeBenchmark(uri, 100))->uri() != uri) ++mismatches;
        const auto found = cache.find(uri);
        if (found && found->uri() != uri) ++mismatches;
        if (i % 100 == 0) cache.setMaxSizeInBytes(500 + 100 * thread);
        if (i % 50 == 0) cache.evictToCapacity();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mismatches, 0);
  EXPECT_LE(cache.sizeInBytes(), cache.maxSizeInBytes());
  EXPECT_EQ(cache.sizeInBytes(), 100 * cache.size());
}

}  // namespace
}  // namespace compiler_gym::runtime
