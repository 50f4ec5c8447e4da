// The directory for the files of a service.
#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <functional>
#include <memory>
#include <string>

namespace compiler_gym::runtime {

// A directory of the service, with a directory logs/ in it. All directories that it creates are for
// their owner only (mode 0700), because they have the programs of the user.
class WorkingDirectory {
 public:
  // Opens the directory `path`, creating it if necessary, and removes the files of an earlier
  // service: port.txt, pid.txt and service.sock. An empty path makes a new directory
  // compiler_gym-service-XXXX-XXXX among the temporary files, which the destructor removes with all
  // it contains. INTERNAL, with the reason, if a directory cannot be made; FAILED_PRECONDITION if
  // another user owns `path` or can write to it.
  static grpc::Status open(const std::string& path, std::unique_ptr<WorkingDirectory>* directory);

  // Removes port.txt, pid.txt and service.sock, which lead nowhere from now on. Removes the whole
  // directory if open() chose its name, or if a client has made it and has ended. Such a directory
  // has a file owner.lock that nobody has locked, see flock(2).
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

  // Does the work of the destructor, for another process if the destructor cannot run.
  std::function<void()> removal() const;

  // Absolute.
  const boost::filesystem::path& path() const { return path_; }
  boost::filesystem::path logs() const { return path_ / "logs"; }
  // The path for the service's Unix socket.
  boost::filesystem::path socket() const;

  // Announces the service to clients: writes port.txt, then pid.txt, each a decimal number, and
  // each atomically. INTERNAL, with the reason, if one cannot be written.
  grpc::Status writeAddress(int port, int pid) const;

 private:
  WorkingDirectory(boost::filesystem::path path, bool isTemporary);

  const boost::filesystem::path path_;
  const bool isTemporary_;
};

}  // namespace compiler_gym::runtime
