#include "compiler_gym/service/runtime/server/access/PeerOwner.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/time.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

using util::FileDescriptor;

namespace {

// The kernel's format of addresses: four words in network byte order. IPv4 uses the first.
using AddressWords = std::array<uint32_t, 4>;

struct Endpoint {
  int family = AF_UNSPEC;
  AddressWords address = {};
  // In network byte order.
  uint16_t port = 0;
};

// Converts addresses ::ffff:a.b.c.d, of IPv6 sockets that speak IPv4, to a.b.c.d.
Endpoint endpointOf(const sockaddr_storage& address) {
  Endpoint endpoint;
  endpoint.family = address.ss_family;
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    endpoint.address[0] = ipv4.sin_addr.s_addr;
    endpoint.port = ipv4.sin_port;
  } else if (address.ss_family == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(endpoint.address.data(), &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
    endpoint.port = ipv6.sin6_port;
    if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {
      endpoint.family = AF_INET;
      endpoint.address = {endpoint.address[3]};
    }
  }
  return endpoint;
}

struct DiagnosisRequest {
  nlmsghdr header = {};
  inet_diag_req_v2 body = {};
};

// A request for the socket with these addresses.
DiagnosisRequest diagnosisRequest(const Endpoint& peer, const Endpoint& here) {
  DiagnosisRequest request;
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<uint8_t>(peer.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~uint32_t{0};
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = peer.port;
  id.idiag_dport = here.port;
  std::memcpy(id.idiag_src, peer.address.data(), sizeof(id.idiag_src));
  std::memcpy(id.idiag_dst, here.address.data(), sizeof(id.idiag_dst));
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// Opens a socket to the kernel, which answers at once. Nothing else can write to the socket.
FileDescriptor openNetlink() {
  FileDescriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  constexpr timeval kLimit = {1, 0};
  if (!netlink.isOpen() ||
      connect(netlink.get(), reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) != 0 ||
      setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &kLimit, sizeof(kLimit)) != 0) {
    return FileDescriptor();
  }
  return netlink;
}

// The format of /proc/net/tcp and tcp6.
std::string hexOf(const Endpoint& endpoint, bool inFileOfIpv6) {
  std::string text;
  char word[9];
  const auto append = [&](uint32_t value) {
    std::snprintf(word, sizeof(word), "%08X", value);
    text += word;
  };
  if (endpoint.family == AF_INET) {
    if (inFileOfIpv6) {
      for (const uint32_t value : {0U, 0U, htonl(0xffff)}) append(value);
    }
    append(endpoint.address[0]);
  } else {
    for (const uint32_t value : endpoint.address) append(value);
  }
  char port[6];
  std::snprintf(port, sizeof(port), ":%04X", ntohs(endpoint.port));
  return text + port;
}

std::optional<uid_t> ownerInFile(const char* path, const std::string& peer,
                                 const std::string& here) {
  constexpr char kEstablished[] = "01";
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits;
    uid_t owner = 0;
    if (fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> owner &&
        local == peer && remote == here && state == kEstablished) {
      return owner;
    }
  }
  return std::nullopt;
}

std::optional<uid_t> ownerOfUnixPeer(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

bool isEstablished(int socket) {
  tcp_info information = {};
  socklen_t size = sizeof(information);
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &information, &size) == 0 &&
         information.tcpi_state == TCP_ESTABLISHED;
}

}  // namespace

std::optional<uid_t> ownerByNetlink(const PeerAddresses& addresses) {
  const FileDescriptor netlink = openNetlink();
  if (!netlink.isOpen()) return std::nullopt;
  const Endpoint peer = endpointOf(addresses.peer);
  const Endpoint here = endpointOf(addresses.here);
  const DiagnosisRequest request = diagnosisRequest(peer, here);
  if (send(netlink.get(), &request, sizeof(request), 0) != sizeof(request)) return std::nullopt;
  struct {
    nlmsghdr header = {};
    inet_diag_msg body = {};
    char attributes[4096];
  } reply;
  const ssize_t size = recv(netlink.get(), &reply, sizeof(reply), 0);
  if (size < static_cast<ssize_t>(sizeof(reply.header) + sizeof(reply.body)) ||
      reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
    return std::nullopt;
  }
  // Without a connection, the kernel answers with the listening socket of the port. A socket that
  // its process has closed has no owner, which looks like root.
  if (reply.body.idiag_state != TCP_ESTABLISHED || reply.body.id.idiag_sport != peer.port ||
      reply.body.id.idiag_dport != here.port) {
    return std::nullopt;
  }
  return reply.body.idiag_uid;
}

std::optional<uid_t> ownerByProcFiles(const PeerAddresses& addresses) {
  const Endpoint peer = endpointOf(addresses.peer);
  const Endpoint here = endpointOf(addresses.here);
  if (peer.family == AF_INET) {
    const auto owner = ownerInFile("/proc/net/tcp", hexOf(peer, false), hexOf(here, false));
    if (owner) return owner;
  }
  return ownerInFile("/proc/net/tcp6", hexOf(peer, true), hexOf(here, true));
}

std::optional<uid_t> ownerOfPeer(int socket) {
  PeerAddresses addresses;
  socklen_t peerSize = sizeof(addresses.peer);
  socklen_t hereSize = sizeof(addresses.here);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&addresses.peer), &peerSize) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&addresses.here), &hereSize) != 0) {
    return std::nullopt;
  }
  if (addresses.here.ss_family == AF_UNIX) return ownerOfUnixPeer(socket);
  if (addresses.here.ss_family != AF_INET && addresses.here.ss_family != AF_INET6) {
    return std::nullopt;
  }
  std::optional<uid_t> owner = ownerByNetlink(addresses);
  if (!owner) owner = ownerByProcFiles(addresses);
  // After a reset of the connection, another process may have the same address.
  return isEstablished(socket) ? owner : std::nullopt;
}

}  // namespace compiler_gym::runtime
