#include "compiler_gym/service/runtime/server/access/ServiceServer.h"

#include <glog/logging.h>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compiler_gym/service/runtime/server/access/Listeners.h"
#include "compiler_gym/util/FileDescriptor.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

// Keeps gRPC's threads until the process ends. Otherwise destroying the last server waits for them:
// ten seconds if one polls a connection with much unsent data.
void keepLibraryRunning() {
  static std::once_flag once;
  std::call_once(once, grpc_init);
}

// Grace period for idle clients to close their connections. A client may report an error if it is
// cut off.
constexpr std::chrono::milliseconds kGoodbye(100);

// Grace period for handlers to return after their requests were cancelled. They return at once
// unless they hang or the machine is busy.
constexpr std::chrono::milliseconds kReturn(2000);

// Clients put only a few command lines into the metadata.
constexpr int kMaxMetadataBytes = 512 * 1024;

// Limits the memory and threads that all requests may use together.
void limitResources(grpc::ServerBuilder& builder, const ServerOptions& options) {
  constexpr size_t kMinMessageBytes = size_t{64} << 20;
  grpc::ResourceQuota quota("compiler_gym");
  if (options.maxThreads > 0) quota.SetMaxThreads(options.maxThreads);
  if (options.maxMessageBytes >= 0) {
    const size_t messageBytes = static_cast<size_t>(options.maxMessageBytes);
    quota.Resize(2 * std::max(messageBytes, kMinMessageBytes));
  }
  builder.SetResourceQuota(quota);
}

// Adds a listener to the server that `builder` builds.
void addEntrance(grpc::ServerBuilder& builder, util::FileDescriptor listener, bool isForOwnerOnly,
                 std::shared_ptr<grpc::ServerCredentials> credentials,
                 std::vector<Acceptor::Entrance>* entrances) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const std::shared_ptr server =
      builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, std::move(credentials));
  const auto take = [server, number = listener.get()](util::FileDescriptor client) {
    // Fails for Unix sockets, which do not need it.
    constexpr int kOn = 1;
    setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = number;
    connection.fd = client.release();
    server->HandleNewConnection(&connection);
  };
  entrances->push_back({std::move(listener), isForOwnerOnly, take});
}

// Listens on all sockets. Sets `port` to the TCP port.
Status addEntrances(grpc::ServerBuilder& builder, const ServerOptions& options, int* port,
                    std::vector<Acceptor::Entrance>* entrances) {
  std::vector<TcpAddress> addresses;
  RETURN_IF_ERROR(resolveHost(options.host, &addresses));
  RETURN_IF_ERROR(options.access.checkHost(options.host, areLoopback(addresses)));
  *port = options.port;
  std::vector<util::FileDescriptor> listeners;
  RETURN_IF_ERROR(listenOnTcp(addresses, options.host, port, &listeners));
  for (util::FileDescriptor& listener : listeners) {
    addEntrance(builder, std::move(listener), options.access.isForOwnerOnly(),
                options.access.credentials(), entrances);
  }
  if (options.unixSocket.empty()) return Status::OK;
  util::FileDescriptor listener;
  const Status status = listenOnUnixSocket(options.unixSocket, &listener);
  if (status.ok()) {
    addEntrance(builder, std::move(listener), true, grpc::InsecureServerCredentials(), entrances);
  } else {
    // Some file systems have no Unix sockets. Clients then use TCP.
    LOG(WARNING) << status.error_message();
  }
  return Status::OK;
}

}  // namespace

Status ServiceServer::start(grpc::Service* service, const ServerOptions& options,
                            std::unique_ptr<ServiceServer>* server) {
  keepLibraryRunning();
  // These two apply to every server built afterwards.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(options.maxMessageBytes);
  builder.SetMaxSendMessageSize(options.maxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  limitResources(builder, options);
  int port = 0;
  std::vector<Acceptor::Entrance> entrances;
  RETURN_IF_ERROR(addEntrances(builder, options, &port, &entrances));
  builder.RegisterService(service);
  auto requests = std::make_shared<RequestCounter>();
  builder.experimental().SetInterceptorCreators(requestCountingInterceptors(requests));
  std::unique_ptr<grpc::Server> started = builder.BuildAndStart();
  if (!started) {
    return Status(StatusCode::INTERNAL,
                  "gRPC cannot start a server; its message above has the reason");
  }
  std::unique_ptr<Acceptor> acceptor;
  RETURN_IF_ERROR(Acceptor::start(std::move(entrances), &acceptor));
  server->reset(
      new ServiceServer(port, std::move(started), std::move(acceptor), std::move(requests)));
  return Status::OK;
}

ServiceServer::ServiceServer(int port, std::unique_ptr<grpc::Server> server,
                             std::unique_ptr<Acceptor> acceptor,
                             std::shared_ptr<RequestCounter> requests)
    : requests_(std::move(requests)),
      server_(std::move(server)),
      acceptor_(std::move(acceptor)),
      port_(port) {}

bool ServiceServer::shutdown(std::chrono::milliseconds grace,
                             const std::function<void()>& interrupt) {
  requests_->waitUntilIdle(grace);
  interrupt();
  acceptor_->stop();
  // Another thread waits, because the wait for handlers has no limit.
  stopped_ = std::async(std::launch::async, [this] {
    server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
    server_->Wait();
  });
  return stopped_.wait_for(kGoodbye + kReturn) == std::future_status::ready;
}

}  // namespace compiler_gym::runtime
