// Tests of the choice between polling for a request and sleeping until it arrives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/worker/Polling.h"
#include "tests/Statuses.h"

namespace compiler_gym::runtime {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr microseconds kShort(10);
constexpr milliseconds kLong(10);

class PollingTest : public ::testing::Test {
 protected:
  PollingTest() {
    util::FileDescriptor ours;
    EXPECT_THAT(Channel::pair(&ours, &peer_), IsOk());
    channel_ = Channel(std::move(ours));
  }

  void makeReadable() const { EXPECT_EQ(write(peer_.get(), "x", 1), 1); }

  void noteWaits(std::chrono::nanoseconds wait, int count) {
    for (int i = 0; i < count; ++i) polling_.noteWait(wait);
  }

  bool waits() {
    return polling_.waitFor([this] { return channel_.isReadable(); });
  }

  // Whether it ever sees what is there. One look in several may be disturbed by other processes,
  // after which it rests for some requests.
  bool polls() {
    for (int i = 0; i < 1000; ++i) {
      if (waits()) return true;
    }
    return false;
  }

  util::FileDescriptor peer_;
  Channel channel_;
  Polling polling_;
};

TEST_F(PollingTest, FirstRequestsArePolledFor) {
  makeReadable();
  EXPECT_TRUE(polls());
}

TEST_F(PollingTest, GivesUpAfterAWhile) { EXPECT_FALSE(waits()); }

TEST_F(PollingTest, SleepsIfRequestsComeSeldom) {
  noteWaits(kLong, 10);
  makeReadable();
  EXPECT_FALSE(polls());
}

TEST_F(PollingTest, PollsAgainWhenRequestsComeSoon) {
  noteWaits(kLong, 10);
  noteWaits(kShort, 20);
  makeReadable();
  EXPECT_TRUE(polls());
}

TEST_F(PollingTest, OneLongWaitAmongShortOnesCountsLittle) {
  noteWaits(kShort, 20);
  noteWaits(kLong, 1);
  noteWaits(kShort, 2);
  makeReadable();
  EXPECT_TRUE(polls());
}

}  // namespace
}  // namespace compiler_gym::runtime
