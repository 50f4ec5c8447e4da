// The sockets on which a service waits for connections.
#pragma once

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <boost/filesystem.hpp>
#include <string>
#include <vector>

#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// An address of this machine, without a port.
struct TcpAddress {
  sockaddr_storage address = {};
  socklen_t size = 0;
};

// The addresses that `host`, a name or an address, stands for. UNAVAILABLE if there is none.
grpc::Status resolveHost(const std::string& host, std::vector<TcpAddress>* addresses);

// True if only this machine can reach these addresses.
bool areLoopback(const std::vector<TcpAddress>& addresses);

// Listens on one port of all addresses that this machine has, and of at least one. `port` 0 becomes
// that of a free one. UNAVAILABLE if that is not possible; the text names `host`.
grpc::Status listenOnTcp(const std::vector<TcpAddress>& addresses, const std::string& host,
                         int* port, std::vector<util::FileDescriptor>* listeners);

// Listens on a Unix socket that only this user may connect to, in place of one that an earlier
// service has left. `path` may be of any length: the kernel is told /proc/self/fd/N/NAME, as
// clients can do, too. UNAVAILABLE if that is not possible.
grpc::Status listenOnUnixSocket(const boost::filesystem::path& path,
                                util::FileDescriptor* listener);

}  // namespace compiler_gym::runtime
