#include "llvm_service/costs/SharedCosts.h"

#include <sys/mman.h>

#include <new>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

uint64_t checksumOf(uint64_t low, uint64_t high, int64_t value) {
  const std::array<uint64_t, 3> words = {low, high, static_cast<uint64_t>(value)};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(words.data());
  // Never zero, the checksum of an empty entry.
  return llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(bytes, sizeof(words))) | 1;
}

void* allocateShared(size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

SharedCosts::Key::Key(llvm::StringRef bitcode, llvm::StringRef name) {
  const llvm::XXH128_hash_t program = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(bitcode));
  low = program.low64 ^ llvm::xxh3_64bits(name);
  high = program.high64;
}

SharedCosts::SharedCosts() : table_(static_cast<Table*>(allocateShared(sizeof(Table)))) {}

SharedCosts::~SharedCosts() { munmap(table_, sizeof(Table)); }

SharedCosts::Entry& SharedCosts::place(const Key& key, size_t number) const {
  return table_->entries[(key.low + number) % kEntries];
}

std::optional<int64_t> SharedCosts::find(const Key& key) const {
  for (size_t number = 0; number < kPlaces; ++number) {
    const Entry& entry = place(key, number);
    const int64_t value = entry.value.load(kRelaxed);
    if (entry.low.load(kRelaxed) == key.low && entry.high.load(kRelaxed) == key.high &&
        entry.checksum.load(kRelaxed) == checksumOf(key.low, key.high, value)) {
      return value;
    }
  }
  return std::nullopt;
}

void SharedCosts::insert(const Key& key, int64_t value) {
  // Chooses an empty place, or else one that depends on the key, so that entries of all places are
  // replaced.
  size_t number = key.high % kPlaces;
  for (size_t i = 0; i < kPlaces; ++i) {
    if (place(key, i).checksum.load(kRelaxed) == 0) {
      number = i;
      break;
    }
  }
  // Concurrent writers may mix their entries. The checksum then matches none of them.
  Entry& entry = place(key, number);
  entry.low.store(key.low, kRelaxed);
  entry.high.store(key.high, kRelaxed);
  entry.value.store(value, kRelaxed);
  entry.checksum.store(checksumOf(key.low, key.high, value), kRelaxed);
}

}  // namespace compiler_gym::llvm_service
