// The RPC service whose sessions are processes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "compiler_gym/service/proto/compiler_gym_service.grpc.pb.h"
#include "compiler_gym/service/runtime/IsolatedSessions.h"

namespace compiler_gym::runtime {

// Serves IsolatedSessions by gRPC, and tells clients of the direct channel.
class IsolatedService final : public compiler_gym::CompilerGymService::Service {
 public:
  // `sessions` must outlive the service. `directSocket` is the name of DirectServer.
  IsolatedService(IsolatedSessions& sessions, std::string directSocket);

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

 private:
  Deadline deadlineOf(const grpc::ServerContext& context) const;

  IsolatedSessions& sessions_;
  const std::string directSocket_;
};

}  // namespace compiler_gym::runtime
