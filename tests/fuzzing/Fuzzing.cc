#include "tests/fuzzing/Fuzzing.h"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "tests/Effort.h"

namespace compiler_gym::fuzzing {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

constexpr uint64_t kDefaultSeed = 20240229;
constexpr int kPatience = 30;
constexpr int kMaxDepth = 5;

uint64_t numberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

// Texts that the toy service knows, as programs, URIs, keys or values.
std::string randomText(Random& random) {
  static const std::vector<std::string> texts = {"",
                                                 "abc",
                                                 "0",
                                                 "7",
                                                 "-1",
                                                 "deadly",
                                                 "explosive",
                                                 "unacceptable",
                                                 "benchmark://toy-v0/abc",
                                                 "file:///etc/hostname",
                                                 "file:///no/such/file",
                                                 "toy.set_sleep_milliseconds",
                                                 "toy.get_sleep_milliseconds",
                                                 "toy.throw",
                                                 "service.benchmark_cache.get_size_in_bytes",
                                                 "service.benchmark_cache.set_max_size_in_bytes",
                                                 "service.pristine_sessions.get_size_in_bytes",
                                                 "service.pristine_sessions.set_max_size_in_bytes"};
  if (below(random, 8) > 0) return texts[below(random, texts.size())];
  std::string text = randomBytes(random, 2000);
  // A string field is UTF-8.
  for (char& character : text) character = static_cast<char>(character & 0x7f);
  return text;
}

int64_t randomInteger(Random& random) {
  switch (below(random, 8)) {
    case 0:
      return static_cast<int64_t>(random());
    case 1:
      return INT64_MAX - static_cast<int64_t>(below(random, 2));
    case 2:
      return INT64_MIN + static_cast<int64_t>(below(random, 2));
    default:
      return static_cast<int64_t>(below(random, 24)) - 2;
  }
}

void fill(Random& random, uint64_t sessionCount, int depth, Message* message);

// Sets the field, or adds an element to it.
template <typename Value>
void put(Message* message, const FieldDescriptor* field, Value value,
         void (Reflection::*set)(Message*, const FieldDescriptor*, Value) const,
         void (Reflection::*add)(Message*, const FieldDescriptor*, Value) const) {
  (message->GetReflection()->*(field->is_repeated() ? add : set))(message, field, value);
}

void putRandomly(Random& random, uint64_t sessionCount, int depth, Message* message,
                 const FieldDescriptor* field) {
  const Reflection* const reflection = message->GetReflection();
  const int64_t integer = randomInteger(random);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(message, field, static_cast<int32_t>(integer), &Reflection::SetInt32,
                 &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(message, field, integer, &Reflection::SetInt64, &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(message, field, static_cast<uint32_t>(integer), &Reflection::SetUInt32,
                 &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(message, field, static_cast<uint64_t>(integer), &Reflection::SetUInt64,
                 &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(message, field, static_cast<double>(integer), &Reflection::SetDouble,
                 &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(message, field, static_cast<float>(integer), &Reflection::SetFloat,
                 &Reflection::AddFloat);
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(message, field, integer % 2 == 0, &Reflection::SetBool, &Reflection::AddBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(message, field, static_cast<int>(below(random, 5)), &Reflection::SetEnumValue,
                 &Reflection::AddEnumValue);
    case FieldDescriptor::CPPTYPE_STRING:
      if (field->is_repeated()) {
        reflection->AddString(message, field, randomText(random));
      } else {
        reflection->SetString(message, field, randomText(random));
      }
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return fill(random, sessionCount, depth + 1,
                  field->is_repeated() ? reflection->AddMessage(message, field)
                                       : reflection->MutableMessage(message, field));
  }
}

void fill(Random& random, uint64_t sessionCount, int depth, Message* message) {
  if (depth > kMaxDepth) return;
  const auto* const descriptor = message->GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* const field = descriptor->field(i);
    if (field->name() == "session_id" && sessionCount > 0 && below(random, 8) > 0) {
      put(message, field, static_cast<int64_t>(below(random, sessionCount)), &Reflection::SetInt64,
          &Reflection::AddInt64);
      continue;
    }
    const uint64_t count = field->is_repeated() ? below(random, 4) : below(random, 4) > 0;
    for (uint64_t j = 0; j < count; ++j) {
      putRandomly(random, sessionCount, depth, message, field);
    }
  }
}

}  // namespace

uint64_t seed() {
  static const uint64_t seed = [] {
    const uint64_t number = numberFromEnvironment("COMPILER_GYM_FUZZ_SEED", kDefaultSeed);
    std::cout << "COMPILER_GYM_FUZZ_SEED=" << number << std::endl;
    return number;
  }();
  return seed;
}

std::chrono::seconds duration() {
  return std::chrono::seconds(
      numberFromEnvironment("COMPILER_GYM_FUZZ_SECONDS", effort<uint64_t>(4, 60)));
}

int64_t runInThreads(int threadCount, const std::function<void(Random&)>& function,
                     const std::function<bool()>& isEnough) {
  const auto begin = std::chrono::steady_clock::now();
  const auto goesOn = [&] {
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    return elapsed < duration() || (elapsed < kPatience * duration() && !isEnough());
  };
  std::atomic<int64_t> calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < threadCount; ++i) {
    threads.emplace_back([&, i] {
      Random random(seed() + static_cast<uint64_t>(i));
      for (; goesOn(); ++calls) function(random);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return calls;
}

std::string randomBytes(Random& random, size_t maxSize) {
  std::string bytes(below(random, maxSize + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void fillRandomly(Random& random, uint64_t sessionCount, Message* message) {
  fill(random, sessionCount, 0, message);
}

}  // namespace compiler_gym::fuzzing
