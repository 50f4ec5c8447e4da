// Runs passes on a program in a process for each client, and does nothing else that a service does.
// Shows what steps of the service must cost at least, as each of its sessions is a process.
//
//   Floor program.bc SOCKET < PIPELINES
//
// Reads pipelines of passes, one per line, loads the program, and listens at a Unix socket. Each
// connection gets a forked copy of this process. It receives the number of a pipeline, of two
// bytes, and answers with eight when the pipeline has run: the time that it took, in nanoseconds.
// Both are in the byte order of the machine. The copy ends with the connection, and all end with
// this process.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/llvm_service/ProgramFile.h"
#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/GrpcStatusMacros.h"
#include "compiler_gym/util/LargePages.h"
#include "llvm_service/Ir.h"
#include "llvm_service/Optimizer.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;
using std::chrono::steady_clock;
using util::FileDescriptor;

constexpr auto kPolling = std::chrono::microseconds(120);

Status systemError(const std::string& what) {
  return {StatusCode::INTERNAL, what + ": " + std::strerror(errno)};
}

std::vector<std::string> readLines(std::istream& input) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Polls at first, as waking a sleeping process takes longer than many passes.
ssize_t receive(int connection, uint16_t& number) {
  const auto end = steady_clock::now() + kPolling;
  while (steady_clock::now() < end) {
    const ssize_t size = recv(connection, &number, sizeof(number), MSG_DONTWAIT);
    if (size >= 0 || errno != EAGAIN) {
      return size;
    }
  }
  return recv(connection, &number, sizeof(number), MSG_WAITALL);
}

/// Returns when the connection ends.
Status serve(int connection, const std::vector<std::string>& pipelines, Optimizer& optimizer) {
  for (uint16_t number = 0; receive(connection, number) == sizeof(number);) {
    if (number >= pipelines.size()) {
      return {StatusCode::OUT_OF_RANGE, "There is no pipeline " + std::to_string(number)};
    }
    const auto start = steady_clock::now();
    RETURN_IF_ERROR(optimizer.run(pipelines[number]));
    const int64_t nanoseconds = std::chrono::nanoseconds(steady_clock::now() - start).count();
    if (send(connection, &nanoseconds, sizeof(nanoseconds), MSG_NOSIGNAL) < 0) {
      return systemError("send");
    }
  }
  return Status::OK;
}

int exitCode(const Status& status) {
  if (!status.ok()) {
    std::cerr << "Floor: " << status.error_message() << std::endl;
    return 1;
  }
  return 0;
}

Status listenAt(const std::string& path, FileDescriptor& listener) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return {StatusCode::INVALID_ARGUMENT, "The socket's path is too long: " + path};
  }
  path.copy(address.sun_path, path.size());
  listener = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.isOpen() ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    return systemError(path);
  }
  return Status::OK;
}

Status run(const std::string& file, const std::string& path) {
  util::moveToLargePages();
  const std::vector<std::string> pipelines = readLines(std::cin);
  std::shared_ptr<const Program> program;
  OwnedModule owned;
  RETURN_IF_ERROR(loadProgramFile(file, program));
  RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
  Optimizer optimizer(*owned.module);
  optimizer.describeProcessor();
  FileDescriptor listener;
  RETURN_IF_ERROR(listenAt(path, listener));
  signal(SIGCHLD, SIG_IGN);  // Nobody waits for the copies.
  std::cout << "ready" << std::endl;
  while (true) {
    const FileDescriptor connection(accept(listener.get(), nullptr, nullptr));
    if (!connection.isOpen()) {
      return systemError("accept");
    }
    const pid_t copy = fork();
    if (copy == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(exitCode(serve(connection.get(), pipelines, optimizer)));
    }
    if (copy < 0) {
      return systemError("fork");
    }
  }
}

}  // namespace

}  // namespace compiler_gym::llvm_service

int main(int argc, char** argv) {
  using namespace compiler_gym::llvm_service;
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " program.bc SOCKET < PIPELINES" << std::endl;
    return 1;
  }
  return exitCode(run(argv[1], argv[2]));
}
