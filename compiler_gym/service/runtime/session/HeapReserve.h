// Memory for the work of a session.
#pragma once

#include <cstddef>

namespace compiler_gym::runtime {

// The memory that this process has allocated from its heap, in bytes. Zero if that is unknown.
size_t heapBytes();

// Adds a part to the heap that the allocator uses before it grows the heap, and asks the kernel for
// huge pages there. The first use of a page takes time, that of 512 small ones several times as
// much as that of a huge one. Unused parts take no memory. Copies of this process have the same
// reserve, and each fills pages of its own.
//
// The size depends on `programBytes`, the memory of the program. Does nothing for small programs,
// and if the reserve does not fit into the process's limit.
void reserveHeap(size_t programBytes);

}  // namespace compiler_gym::runtime
