#include "compiler_gym/service/runtime/server/ServiceServer.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>
#include <utility>

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

// Keeps gRPC's threads until the process ends. Otherwise destroying the last server would wait for
// them, which takes ten seconds if one of them polls a connection that had much to write.
void keepLibraryRunning() {
  static std::once_flag once;
  std::call_once(once, grpc_init);
}

// How long clients that are idle have to close their connections. One that is cut off instead may
// report an error.
constexpr std::chrono::milliseconds kGoodbye(100);

// How long handlers have to return once their requests were cancelled. They need next to nothing
// unless they hang, but a machine can be busy.
constexpr std::chrono::milliseconds kReturn(2000);

// Clients put no more than some command lines into the metadata.
constexpr int kMaxMetadataBytes = 512 * 1024;

std::string addressOf(const std::string& host, int port) {
  const bool isBareIpv6 = host.find(':') != std::string::npos && host.front() != '[';
  return (isBareIpv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Status cannotListen(const std::string& address) {
  return Status(StatusCode::UNAVAILABLE,
                "Cannot listen on " + address +
                    ": the port may be in use by another program (--port=0 takes any free one), or "
                    "--host may not be an address of this machine");
}

}  // namespace

Status ServiceServer::start(grpc::Service* service, const std::string& host, int port,
                            int maxMessageBytes, std::unique_ptr<ServiceServer>* server) {
  keepLibraryRunning();
  // These two apply to every server built afterwards.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  const std::string address = addressOf(host, port);
  int boundPort = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(maxMessageBytes);
  builder.SetMaxSendMessageSize(maxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Otherwise two services started at the same time can get the same port.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &boundPort);
  builder.RegisterService(service);
  auto requests = std::make_shared<RequestCounter>();
  builder.experimental().SetInterceptorCreators(requestCountingInterceptors(requests));
  std::unique_ptr<grpc::Server> started = builder.BuildAndStart();
  if (!started || boundPort == 0) return cannotListen(address);
  server->reset(new ServiceServer(std::move(started), boundPort, std::move(requests)));
  return Status::OK;
}

ServiceServer::ServiceServer(std::unique_ptr<grpc::Server> server, int port,
                             std::shared_ptr<RequestCounter> requests)
    : requests_(std::move(requests)), server_(std::move(server)), port_(port) {}

bool ServiceServer::shutdown(std::chrono::milliseconds grace,
                             const std::function<void()>& interrupt) {
  requests_->waitUntilIdle(grace);
  interrupt();
  // It waits for the handlers without limit, so another thread does.
  stopped_ = std::async(std::launch::async, [this] {
    server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
    server_->Wait();
  });
  return stopped_.wait_for(kGoodbye + kReturn) == std::future_status::ready;
}

}  // namespace compiler_gym::runtime
