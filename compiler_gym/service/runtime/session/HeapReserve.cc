#include "compiler_gym/service/runtime/session/HeapReserve.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace compiler_gym::runtime {

// Sanitizers have allocators of their own.
#if defined(__GLIBC__) && !defined(COMPILER_GYM_SANITIZER)

namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
// The least program for which a session is likely to use more than one huge page.
constexpr size_t kMinProgramBytes = size_t{512} << 10;
// What optimising a program takes besides it, in 40 random passes.
constexpr size_t kReservePerByte = 3;
// From this size on, the allocator maps blocks separately.
constexpr size_t kMaxBlockBytes = size_t{32} << 20;

}  // namespace

size_t heapBytes() { return mallinfo2().uordblks; }

void reserveHeap(size_t programBytes) {
  if (programBytes < kMinProgramBytes) return;
  const size_t bytes =
      std::min(kMaxBlockBytes - kHugePageBytes, kReservePerByte * programBytes + kHugePageBytes);
  // Otherwise the allocator would map this block separately, or return it when it is freed.
  mallopt(M_MMAP_THRESHOLD, kMaxBlockBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kMaxBlockBytes);
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(block);
  const uintptr_t firstPage = (begin + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  const uintptr_t lastPage = (begin + bytes) & ~(kHugePageBytes - 1);
  madvise(reinterpret_cast<void*>(firstPage), lastPage - firstPage, MADV_HUGEPAGE);
  std::free(block);
}

#else

size_t heapBytes() { return 0; }

void reserveHeap(size_t /*programBytes*/) {}

#endif

}  // namespace compiler_gym::runtime
