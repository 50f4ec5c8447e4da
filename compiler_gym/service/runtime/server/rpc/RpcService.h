// The RPCs by gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "compiler_gym/service/proto/compiler_gym_service.grpc.pb.h"
#include "compiler_gym/service/runtime/server/rpc/RpcHandlers.h"

namespace compiler_gym::runtime {

// Serves RpcHandlers by gRPC, and tells clients how sessions are kept apart and of the direct
// channel.
class RpcService : public compiler_gym::CompilerGymService::WithCallbackMethod_HoldLease<
                       compiler_gym::CompilerGymService::Service> {
 public:
  // `directSocket` is the name of the DirectServer's socket, empty if there is none.
  explicit RpcService(std::shared_ptr<RpcHandlers> handlers, std::string directSocket = "");

  grpc::Status GetVersion(grpc::ServerContext* context, const GetVersionRequest* request,
                          GetVersionReply* reply) override;
  grpc::Status GetSpaces(grpc::ServerContext* context, const GetSpacesRequest* request,
                         GetSpacesReply* reply) override;
  grpc::Status StartSession(grpc::ServerContext* context, const StartSessionRequest* request,
                            StartSessionReply* reply) override;
  grpc::Status ForkSession(grpc::ServerContext* context, const ForkSessionRequest* request,
                           ForkSessionReply* reply) override;
  grpc::Status EndSession(grpc::ServerContext* context, const EndSessionRequest* request,
                          EndSessionReply* reply) override;
  grpc::Status Step(grpc::ServerContext* context, const StepRequest* request,
                    StepReply* reply) override;
  grpc::Status AddBenchmark(grpc::ServerContext* context, const AddBenchmarkRequest* request,
                            AddBenchmarkReply* reply) override;
  grpc::Status SendSessionParameter(grpc::ServerContext* context,
                                    const SendSessionParameterRequest* request,
                                    SendSessionParameterReply* reply) override;

  // A lease takes no thread while it lasts.
  grpc::ServerWriteReactor<HoldLeaseReply>* HoldLease(grpc::CallbackServerContext* context,
                                                      const HoldLeaseRequest* request) override;

  BenchmarkCache& benchmarks() { return handlers_->benchmarks(); }

  // Number of sessions that were started or forked and not ended.
  int sessionCount() const { return handlers_->sessionCount(); }

 private:
  template <typename Request, typename Reply>
  using Rpc = grpc::Status (RpcHandlers::*)(const Request&, Reply*, const RequestContext&);

  template <typename Request, typename Reply>
  grpc::Status serve(const char* name, Rpc<Request, Reply> rpc, grpc::ServerContext* context,
                     const Request* request, Reply* reply);
  // Like serve(), for replies that describe the service.
  template <typename Request, typename Reply>
  grpc::Status serveDescription(const char* name, Rpc<Request, Reply> rpc,
                                grpc::ServerContext* context, const Request* request, Reply* reply);
  Deadline deadlineOf(const grpc::ServerContext* context) const;

  const std::shared_ptr<RpcHandlers> handlers_;
  const std::string directSocket_;
};

}  // namespace compiler_gym::runtime
