// Symbols that the headers of newer C++ libraries refer to, and that libraries of old systems lack.
//
// The programs of wheels find them in a library of the wheel. The plugin has them itself, because
// `compiler-gym optimize` copies it to the folder of a program.
#include <new>

extern "C" {

// False means that there may be other threads, which is always right. glibc has it since 2.32.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// std::__throw_bad_array_new_length(), which libstdc++ has since GCC 11.
[[noreturn]] __attribute__((visibility("hidden"))) void throwBadArrayNewLength() __asm__(
    "_ZSt28__throw_bad_array_new_lengthv");
void throwBadArrayNewLength() { throw std::bad_array_new_length(); }

}  // extern "C"
