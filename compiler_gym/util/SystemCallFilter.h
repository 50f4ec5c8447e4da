#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>

namespace compiler_gym::util {

/// A seccomp filter of the system calls of this process (seccomp(2)). Rules are tried in the order
/// in which they are added, and the first one that fits decides.
///
/// Values are compared with the low half of an argument.
class SystemCallFilter {
 public:
  /// A filter that ends the process at calls for another machine.
  SystemCallFilter();

  /// Lets a call fail with an error, e.g. EPERM.
  void deny(int call, int error);
  /// Lets a call fail with EPERM if the argument has any of the bits.
  void denyBits(int call, int argument, uint32_t bits);
  /// Lets a call fail with EPERM if the argument has this value.
  void denyValue(int call, int argument, uint32_t value);
  /// Lets a call fail with EPERM if the argument has another value.
  void denyOtherValues(int call, int argument, uint32_t value);
  /// Lets a call fail with EPERM unless the argument, a pointer, is null. Both halves are compared.
  void denyUnlessNull(int call, int argument);
  /// Allows a call.
  void allow(int call);

  /// Installs the filter, and allows all other calls. It holds for this thread and all processes
  /// that it starts, and cannot be undone.
  ///
  /// @return false if that fails, and sets errno. It takes PR_SET_NO_NEW_PRIVS of prctl(2), or
  /// root.
  [[nodiscard]] bool installAndAllowOthers();
  /// As installAndAllowOthers(), but all other calls fail with an error.
  [[nodiscard]] bool installAndDenyOthers(int error);

 private:
  void load(size_t offset);
  void add(uint16_t code, uint32_t value, uint8_t ifTrue = 0, uint8_t ifFalse = 0);
  void denyIf(int call, size_t offset, uint16_t test, uint32_t value, bool holds);
  bool install(uint32_t otherwise);

  sock_filter code_[256] = {};
  uint16_t size_ = 0;
};

}  // namespace compiler_gym::util
