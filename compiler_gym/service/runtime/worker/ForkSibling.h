// Copies a process with a single thread.
#pragma once

#include <sys/types.h>

namespace compiler_gym::runtime {

// Like fork(2), but the new process becomes a child of this process's parent: the fork server
// supervises all workers, and a copy must not depend on its original. The C library has no function
// for that. Of what its fork() does beyond the system call, this does what concerns a process with
// a single thread: in the copy, the C library's record of the thread has the copy's id, the kernel
// clears that record and wakes the waiters of robust mutexes when the copy ends. Handlers of
// pthread_atfork() are not called. Locks of the C library and its allocator are free, as the only
// thread that could hold one is here.
pid_t forkSibling();

// True if this process has one thread. A copy of one that has more would lack the others, and hold
// for ever whatever locks they held at that moment, those of the allocator among them.
bool hasOneThread();

}  // namespace compiler_gym::runtime
