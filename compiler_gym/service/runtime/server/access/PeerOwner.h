// Identification of the user at the other end of a connection.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <optional>

namespace compiler_gym::runtime {

// The user whose process holds the other end of a connected socket: a Unix socket, or a TCP socket
// whose other end is on this machine, too. The kernel is asked, so nobody can pretend to be
// somebody else. nullopt if it does not say, or if the other end is no longer open for sending:
// nobody may answer for it then.
std::optional<uid_t> ownerOfPeer(int socket);

// A TCP connection as its other end on this machine sees it: the address there, and the one here.
struct PeerAddresses {
  sockaddr_storage peer = {};
  sockaddr_storage here = {};
};

// The two methods of ownerOfPeer(). The second is for systems where netlink is forbidden.
std::optional<uid_t> ownerByNetlink(const PeerAddresses& addresses);
std::optional<uid_t> ownerByProcFiles(const PeerAddresses& addresses);

}  // namespace compiler_gym::runtime
