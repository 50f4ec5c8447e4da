// Descriptors that are on their way between processes, of which Linux counts those of a user.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "tests/Statuses.h"

namespace compiler_gym::runtime {

// Gives up the privileges with which this thread, and programs that it starts, may have any number
// of descriptors on their way. In a sandbox they mean nothing.
inline void dropPrivilegesOfSockets() {
  for (const int capability : {CAP_SYS_ADMIN, CAP_SYS_RESOURCE}) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets = {};
  ASSERT_EQ(syscall(SYS_capget, &header, sets.data()), 0);
  sets[0].effective &= ~((1u << CAP_SYS_ADMIN) | (1u << CAP_SYS_RESOURCE));
  ASSERT_EQ(syscall(SYS_capset, &header, sets.data()), 0);
}

// Holds descriptors that nobody receives.
class FilesInFlight {
 public:
  explicit FilesInFlight(int count) {
    util::FileDescriptor first;
    util::FileDescriptor second;
    EXPECT_THAT(Channel::pair(&first, &second), IsOk());
    sender_ = Channel(std::move(first));
    receiver_ = Channel(std::move(second));
    const std::vector<int> descriptors(2, receiver_.socket().get());
    for (int i = 0; i < count; i += 2) {
      EXPECT_THAT(sender_.send(1, "", Clock::now() + std::chrono::seconds(10), {}, descriptors),
                  IsOk());
    }
  }

 private:
  Channel sender_;
  Channel receiver_;
};

}  // namespace compiler_gym::runtime
