// Helpers shared by the fuzzers.
#pragma once

#include <google/protobuf/message.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace compiler_gym::fuzzing {

using Random = std::mt19937_64;

// COMPILER_GYM_FUZZ_SEED, or a fixed number. It is printed.
uint64_t seed();

// COMPILER_GYM_FUZZ_SECONDS, or a few.
std::chrono::seconds duration();

// Calls `function` in `threadCount` threads again and again until duration() is over, each with a
// generator of its own. On a busy machine goes on, up to thirty times as long, until `isEnough`.
// Returns the number of calls.
int64_t runInThreads(
    int threadCount, const std::function<void(Random&)>& function,
    const std::function<bool()>& isEnough = [] { return true; });

// 0 to `count` - 1.
inline uint64_t below(Random& random, uint64_t count) { return random() % count; }

// Bytes of any value, at most `maxSize`.
std::string randomBytes(Random& random, size_t maxSize);

// Fills a message with values that may mean something to the toy service, and others. Fields named
// "session_id" are set to something below `sessionCount`, mostly.
void fillRandomly(Random& random, uint64_t sessionCount, google::protobuf::Message* message);

}  // namespace compiler_gym::fuzzing
