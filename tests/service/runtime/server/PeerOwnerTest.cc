#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include "compiler_gym/service/runtime/server/access/PeerOwner.h"
#include "compiler_gym/util/FileDescriptor.h"
#include "tests/service/runtime/server/OtherUser.h"

namespace compiler_gym::runtime {
namespace {

using ::testing::Optional;
using util::FileDescriptor;

// Addresses of IPv4 and IPv6, with the family that a socket needs to use them.
struct Protocol {
  const char* name;
  int listenerFamily;
  const char* listener;
  int clientFamily;
  const char* client;
};

std::ostream& operator<<(std::ostream& stream, const Protocol& protocol) {
  return stream << protocol.name;
}

constexpr Protocol kProtocols[] = {
    {"Ipv4", AF_INET, "127.0.0.1", AF_INET, "127.0.0.1"},
    {"Ipv4OtherLoopback", AF_INET, "127.1.2.3", AF_INET, "127.1.2.3"},
    {"Ipv6", AF_INET6, "::1", AF_INET6, "::1"},
    // A socket of IPv6 can talk IPv4, on either side.
    {"Ipv6ClientOfIpv4", AF_INET, "127.0.0.1", AF_INET6, "::ffff:127.0.0.1"},
    {"Ipv4ClientOfIpv6", AF_INET6, "::", AF_INET, "127.0.0.1"},
};

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address addressOf(int family, const char* text, uint16_t port) {
  Address address;
  address.storage.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage);
    ipv4.sin_port = htons(port);
    EXPECT_EQ(inet_pton(family, text, &ipv4.sin_addr), 1) << text;
    address.size = sizeof(ipv4);
  } else {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    ipv6.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(family, text, &ipv6.sin6_addr), 1) << text;
    address.size = sizeof(ipv6);
  }
  return address;
}

uint16_t portOf(const Address& address) {
  return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
}

class PeerOwnerTest : public ::testing::TestWithParam<Protocol> {
 protected:
  void SetUp() override {
    listener_ = FileDescriptor(socket(GetParam().listenerFamily, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Address any = addressOf(GetParam().listenerFamily, GetParam().listener, 0);
    Address bound;
    bound.size = sizeof(bound.storage);
    if (bind(listener_.get(), any.get(), any.size) != 0) {
      GTEST_SKIP() << "This machine has no " << GetParam().listener;
    }
    constexpr timeval kPatience = {20, 0};
    setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    ASSERT_EQ(listen(listener_.get(), 8), 0);
    ASSERT_EQ(getsockname(listener_.get(), bound.get(), &bound.size), 0);
    target_ = addressOf(GetParam().clientFamily, GetParam().client, portOf(bound));
  }

  // A client's end, and the service's.
  FileDescriptor connectClient() const {
    FileDescriptor client(socket(GetParam().clientFamily, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(client.get(), target_.get(), target_.size), 0);
    return client;
  }
  FileDescriptor acceptClient() const {
    return FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  static PeerAddresses addressesOf(const FileDescriptor& accepted) {
    PeerAddresses addresses;
    socklen_t size = sizeof(addresses.peer);
    EXPECT_EQ(getpeername(accepted.get(), reinterpret_cast<sockaddr*>(&addresses.peer), &size), 0);
    size = sizeof(addresses.here);
    EXPECT_EQ(getsockname(accepted.get(), reinterpret_cast<sockaddr*>(&addresses.here), &size), 0);
    return addresses;
  }

  static void expectNoOwner(const PeerAddresses& addresses) {
    EXPECT_EQ(ownerByNetlink(addresses), std::nullopt);
    EXPECT_EQ(ownerByProcFiles(addresses), std::nullopt);
  }

  FileDescriptor listener_;
  Address target_;
};

INSTANTIATE_TEST_SUITE_P(, PeerOwnerTest, ::testing::ValuesIn(kProtocols),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(PeerOwnerTest, SameUser) {
  const FileDescriptor client = connectClient();
  const FileDescriptor accepted = acceptClient();
  const PeerAddresses addresses = addressesOf(accepted);
  EXPECT_THAT(ownerByNetlink(addresses), Optional(geteuid()));
  EXPECT_THAT(ownerByProcFiles(addresses), Optional(geteuid()));
  EXPECT_THAT(ownerOfPeer(accepted.get()), Optional(geteuid()));
}

TEST_P(PeerOwnerTest, OtherUser) {
  SKIP_WITHOUT_OTHER_USER();
  // It stays connected until this side closes the connection.
  auto connected = std::async(std::launch::async, [this] {
    return runAsOtherUser([this] {
      const int client = socket(GetParam().clientFamily, SOCK_STREAM | SOCK_CLOEXEC, 0);
      char byte = 0;
      return connect(client, target_.get(), target_.size) == 0 && read(client, &byte, 1) == 0 ? 0
                                                                                              : 1;
    });
  });
  FileDescriptor accepted = acceptClient();
  const PeerAddresses addresses = addressesOf(accepted);
  EXPECT_THAT(ownerByNetlink(addresses), Optional(kOtherUser));
  EXPECT_THAT(ownerByProcFiles(addresses), Optional(kOtherUser));
  EXPECT_THAT(ownerOfPeer(accepted.get()), Optional(kOtherUser));
  accepted.close();
  EXPECT_EQ(connected.get(), 0);
}

// The kernel then tells 0 as the owner, which is root.
TEST_P(PeerOwnerTest, ClosedAndResetConnectionsHaveNoOwner) {
  for (const linger& end : {linger{0, 0}, linger{1, 0}}) {
    FileDescriptor client = connectClient();
    const FileDescriptor accepted = acceptClient();
    const PeerAddresses addresses = addressesOf(accepted);
    ASSERT_EQ(send(client.get(), "x", 1, 0), 1);
    ASSERT_EQ(setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &end, sizeof(end)), 0);
    client.close();
    expectNoOwner(addresses);
    EXPECT_EQ(ownerOfPeer(accepted.get()), std::nullopt);
  }
}

// A new connection of ours can have the address of one that was reset before anybody looked.
TEST_P(PeerOwnerTest, NextConnectionFromTheSameAddressDoesNotAnswerForAResetOne) {
  FileDescriptor client = connectClient();
  const FileDescriptor accepted = acceptClient();
  Address source;
  source.size = sizeof(source.storage);
  ASSERT_EQ(getsockname(client.get(), source.get(), &source.size), 0);
  constexpr linger kReset = {1, 0};
  ASSERT_EQ(setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &kReset, sizeof(kReset)), 0);
  client.close();

  const FileDescriptor next(socket(GetParam().clientFamily, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(next.get(), source.get(), source.size), 0);
  ASSERT_EQ(connect(next.get(), target_.get(), target_.size), 0);
  EXPECT_EQ(ownerOfPeer(accepted.get()), std::nullopt);
  EXPECT_THAT(ownerOfPeer(acceptClient().get()), Optional(geteuid()));
}

TEST_P(PeerOwnerTest, AListenerOnThePortIsNotTheOwner) {
  const FileDescriptor client = connectClient();
  const FileDescriptor accepted = acceptClient();
  PeerAddresses addresses = addressesOf(accepted);
  addresses.peer = addresses.here;
  expectNoOwner(addresses);
}

TEST(PeerOwner, OtherMachineHasNoOwner) {
  PeerAddresses addresses;
  addresses.peer = addressOf(AF_INET, "192.0.2.1", 1234).storage;
  addresses.here = addressOf(AF_INET, "127.0.0.1", 4321).storage;
  EXPECT_EQ(ownerByNetlink(addresses), std::nullopt);
  EXPECT_EQ(ownerByProcFiles(addresses), std::nullopt);
}

TEST(PeerOwner, UnixSocket) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const FileDescriptor first(ends[0]);
  const FileDescriptor second(ends[1]);
  EXPECT_THAT(ownerOfPeer(first.get()), Optional(geteuid()));
}

TEST(PeerOwner, UnconnectedSocketsHaveNoOwner) {
  const FileDescriptor tcp(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(ownerOfPeer(tcp.get()), std::nullopt);
  EXPECT_EQ(ownerOfPeer(-1), std::nullopt);
  const FileDescriptor udp(socket(AF_INET, SOCK_DGRAM, 0));
  const Address target = addressOf(AF_INET, "127.0.0.1", 9);
  ASSERT_EQ(connect(udp.get(), target.get(), target.size), 0);
  EXPECT_EQ(ownerOfPeer(udp.get()), std::nullopt);
}

}  // namespace
}  // namespace compiler_gym::runtime
