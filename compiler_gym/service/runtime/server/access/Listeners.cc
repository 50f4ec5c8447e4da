#include "compiler_gym/service/runtime/server/access/Listeners.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;
using util::FileDescriptor;

namespace {

// Another program can take the port on one address while this one takes it on another.
constexpr int kPortAttempts = 20;

std::string addressText(const std::string& host, int port) {
  const bool isBareIpv6 = host.find(':') != std::string::npos && host.front() != '[';
  return (isBareIpv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Status cannotListen(const std::string& host, int port, const std::string& reason) {
  return Status(StatusCode::UNAVAILABLE,
                "Cannot listen on " + addressText(host, port) + " (" + reason +
                    "): the port may be in use by another program (--port=0 takes any free one), "
                    "or --host may not be an address of this machine");
}

bool operator==(const TcpAddress& a, const TcpAddress& b) {
  return a.size == b.size && std::memcmp(&a.address, &b.address, a.size) == 0;
}

bool isLoopback(const TcpAddress& tcp) {
  constexpr uint8_t kIpv4Loopback = 127;
  if (tcp.address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(tcp.address);
    return ntohl(ipv4.sin_addr.s_addr) >> 24 == kIpv4Loopback;
  }
  if (tcp.address.ss_family != AF_INET6) return false;
  const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6&>(tcp.address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) ||
         (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == kIpv4Loopback);
}

void setPort(TcpAddress* tcp, int port) {
  const uint16_t number = htons(static_cast<uint16_t>(port));
  if (tcp->address.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(tcp->address).sin_port = number;
  } else {
    reinterpret_cast<sockaddr_in6&>(tcp->address).sin6_port = number;
  }
}

int portOf(const FileDescriptor& listener) {
  TcpAddress tcp;
  tcp.size = sizeof(tcp.address);
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&tcp.address), &tcp.size) != 0) {
    return 0;
  }
  return ntohs(tcp.address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(tcp.address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(tcp.address).sin6_port);
}

// Returns a closed descriptor and sets errno on failure.
FileDescriptor listenOn(const TcpAddress& tcp) {
  constexpr int kOn = 1;
  constexpr int kOff = 0;
  const int family = tcp.address.ss_family;
  FileDescriptor listener(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.isOpen()) return listener;
  // Allows a port to be used again soon after a service has ended. Two services still cannot share
  // it.
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof(kOn));
  // Lets "::" accept IPv4, too.
  if (family == AF_INET6) {
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kOff, sizeof(kOff));
  }
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&tcp.address), tcp.size) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    const int error = errno;
    listener.close();
    errno = error;
  }
  return listener;
}

// Listens on all addresses at the same port. Returns the first error, or 0. The machine may lack an
// address, e.g. ::1 of localhost without IPv6.
int listenOnAll(std::vector<TcpAddress> addresses, int* port,
                std::vector<FileDescriptor>* listeners) {
  int missing = EADDRNOTAVAIL;
  for (TcpAddress& address : addresses) {
    setPort(&address, *port);
    FileDescriptor listener = listenOn(address);
    const int error = errno;
    if (listener.isOpen()) {
      *port = portOf(listener);
      listeners->push_back(std::move(listener));
    } else if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
      missing = error;
    } else {
      return error;
    }
  }
  return listeners->empty() ? missing : 0;
}

}  // namespace

Status resolveHost(const std::string& host, std::vector<TcpAddress>* addresses) {
  const bool hasBrackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string name = hasBrackets ? host.substr(1, host.size() - 2) : host;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return Status(StatusCode::UNAVAILABLE, "--host=" + host +
                                               " is not the name or address of an interface of "
                                               "this machine: " +
                                               gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    TcpAddress address;
    std::memcpy(&address.address, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
    // /etc/hosts can list a name twice.
    const bool isKnown = std::any_of(addresses->begin(), addresses->end(),
                                     [&](const TcpAddress& other) { return other == address; });
    if (!isKnown) addresses->push_back(address);
  }
  return Status::OK;
}

bool areLoopback(const std::vector<TcpAddress>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(), isLoopback);
}

Status listenOnTcp(const std::vector<TcpAddress>& addresses, const std::string& host, int* port,
                   std::vector<FileDescriptor>* listeners) {
  const int asked = *port;
  int error = 0;
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    listeners->clear();
    *port = asked;
    error = listenOnAll(addresses, port, listeners);
    if (error == 0) return Status::OK;
    if (error != EADDRINUSE || asked != 0) break;
  }
  listeners->clear();
  return cannotListen(host, asked, std::generic_category().message(error));
}

Status listenOnUnixSocket(const boost::filesystem::path& path, FileDescriptor* listener) {
  const FileDescriptor folder(open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = path.filename().string();
  const std::string shortPath = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + name;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  shortPath.copy(address.sun_path, sizeof(address.sun_path) - 1);
  *listener = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (folder.isOpen() && listener->isOpen() &&
      (unlinkat(folder.get(), name.c_str(), 0) == 0 || errno == ENOENT) &&
      bind(listener->get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      // Clients cannot connect before listen().
      fchmodat(folder.get(), name.c_str(), S_IRUSR | S_IWUSR, 0) == 0 &&
      listen(listener->get(), SOMAXCONN) == 0) {
    return Status::OK;
  }
  return Status(StatusCode::UNAVAILABLE, "Cannot make the Unix socket " + path.string() + ": " +
                                             std::generic_category().message(errno));
}

}  // namespace compiler_gym::runtime
