// Functions of libstdc++ that the oldest systems of the wheels lack. See tools/old_systems.py.
//
// They have other names here, since the headers define or declare some of them.

#include <cxxabi.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <exception>
#include <ios>
#include <new>
#include <string>
#include <typeinfo>

namespace {

// The string has room for the result. Its end, of so many characters, comes after the new part.
template <typename Character>
void replacePart(Character* part, std::size_t size, const Character* text, std::size_t newSize,
                 std::size_t sizeOfEnd) {
  const std::basic_string<Character> copy(text, newSize);
  std::memmove(part + newSize, part + size, sizeOfEnd * sizeof(Character));
  std::memcpy(part, copy.data(), newSize * sizeof(Character));
}

// All versions of libstdc++ have this before an exception: __cxa_refcounted_exception.
struct Header {
  int references;
  struct alignas(_Unwind_Exception) {
    std::type_info* type;
    void (*destroy)(void*);
    void* handlers[3];
    int counts[2];
    void* cache[4];
    _Unwind_Exception unwind;
  } state;
};
static_assert(sizeof(Header) == 128);

Header& headerOf(void* exception) { return static_cast<Header*>(exception)[-1]; }

// Since GCC 13, the library makes std::cout and the others. Before, each user of them had one of
// these. This library is loaded before its users.
const std::ios_base::Init standardStreams;

}  // namespace

extern "C" {

// GCC 12: std::exception_ptr::_M_addref().
void addReference(void** exception) __asm__("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void addReference(void** exception) {
  if (*exception != nullptr) {
    __atomic_add_fetch(&headerOf(*exception).references, 1, __ATOMIC_ACQ_REL);
  }
}

// GCC 12: std::exception_ptr::_M_release().
void release(void** exception) __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void release(void** exception) {
  if (*exception == nullptr) return;
  Header& header = headerOf(*exception);
  if (__atomic_sub_fetch(&header.references, 1, __ATOMIC_ACQ_REL) == 0) {
    if (header.state.destroy != nullptr) header.state.destroy(*exception);
    abi::__cxa_free_exception(*exception);
    *exception = nullptr;
  }
}

// GCC 11: std::__throw_bad_array_new_length().
[[noreturn]] void throwBadArrayNewLength() __asm__("_ZSt28__throw_bad_array_new_lengthv");
void throwBadArrayNewLength() { throw std::bad_array_new_length(); }

// GCC 11: std::string::reserve().
void shrink(std::string* text) __asm__(
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEv");
void shrink(std::string* text) {
  if (text->capacity() > text->size()) std::string(text->data(), text->size()).swap(*text);
}

// GCC 11: std::__atomic_futex_unsigned_base::_M_futex_wait_until_steady(). std::future waits with
// it. Returns false at the end of the time.
bool waitUntilSteady(void* self, unsigned* word, unsigned value, bool hasTimeout, std::chrono::seconds seconds, std::chrono::nanoseconds nanoseconds) __asm__(
    "_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjb"
    "NSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE");
bool waitUntilSteady(void*, unsigned* word, unsigned value, bool hasTimeout,
                     std::chrono::seconds seconds, std::chrono::nanoseconds nanoseconds) {
  const std::timespec end{seconds.count(), nanoseconds.count()};
  if (hasTimeout && end.tv_sec < 0) return false;
  const long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value,
                              hasTimeout ? &end : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  return result == 0 || errno != ETIMEDOUT;
}

// GCC 13: std::ios_base_library_init(). Programs refer to it and do not call it.
void initStreams() __asm__("_ZSt21ios_base_library_initv");
void initStreams() {}

// GCC 13: _M_replace_cold() of std::string and std::wstring, which replaces a part of a string by
// another part of it.
void replaceByOwnPart(std::string*, char* part, std::size_t size, const char* text,
                      std::size_t newSize, std::size_t sizeOfEnd) __asm__(
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm");
void replaceByOwnPart(std::string*, char* part, std::size_t size, const char* text,
                      std::size_t newSize, std::size_t sizeOfEnd) {
  replacePart(part, size, text, newSize, sizeOfEnd);
}
void replaceByOwnWidePart(std::wstring*, wchar_t* part, std::size_t size, const wchar_t* text,
                          std::size_t newSize, std::size_t sizeOfEnd) __asm__(
    "_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEE15_M_replace_coldEPwmPKwmm");
void replaceByOwnWidePart(std::wstring*, wchar_t* part, std::size_t size, const wchar_t* text,
                          std::size_t newSize, std::size_t sizeOfEnd) {
  replacePart(part, size, text, newSize, sizeOfEnd);
}

// GCC 14: the end of a program whose exception leaves a function that is noexcept.
[[noreturn]] void terminateBy(_Unwind_Exception* exception) __asm__("__cxa_call_terminate");
void terminateBy(_Unwind_Exception* exception) {
  // The handler of std::terminate() may ask for the exception.
  if (exception != nullptr) abi::__cxa_begin_catch(exception);
  std::terminate();
}

}  // extern "C"
