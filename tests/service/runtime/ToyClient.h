// Talks to a toy service, in the same process or through a channel.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.grpc.pb.h"
#include "tests/Statuses.h"

namespace compiler_gym::toy {

// Indices of the toy's observation spaces.
enum Observation : int32_t {
  kText,
  kLength,
  kHistogram,
  kBytes,
  kRatios,
  kCounter,
  kFailing,
  kThrowing,
  kEndOfSteps,
  kObservationCount,
};

// A status, and the reply that is meaningful if the status is OK.
template <typename Reply>
struct Answer {
  grpc::Status status;
  Reply reply;

  bool ok() const { return status.ok(); }
  grpc::StatusCode code() const { return status.error_code(); }
  std::string message() const { return status.error_message(); }
};

// The number of an action of the space "Edit".
int64_t actionNumber(const std::string& name);

// One method for each RPC, with convenient arguments. May be used by any number of threads.
class ToyClient {
 public:
  // Calls the methods of `service` directly.
  explicit ToyClient(CompilerGymService::Service* service) : service_(service) {}

  // Connects to a port of this machine. Requests end after `timeout`; 0 means that they have none.
  explicit ToyClient(int port, std::chrono::milliseconds timeout = {});

  // Talks through a channel.
  explicit ToyClient(const std::shared_ptr<grpc::ChannelInterface>& channel)
      : stub_(CompilerGymService::NewStub(channel)) {}

  Answer<GetVersionReply> getVersion() const;
  Answer<GetSpacesReply> getSpaces() const;
  Answer<StartSessionReply> start(const Benchmark& benchmark,
                                  const std::vector<int32_t>& observations = {},
                                  int32_t actionSpace = 0) const;
  Answer<ForkSessionReply> fork(int64_t session) const;
  Answer<EndSessionReply> end(int64_t session) const;
  // Actions are names of the toy's "Edit" space.
  Answer<StepReply> step(int64_t session, const std::vector<std::string>& actions,
                         const std::vector<int32_t>& observations = {}) const;
  Answer<StepReply> step(const StepRequest& request) const;
  Answer<AddBenchmarkReply> add(const std::vector<Benchmark>& benchmarks) const;
  // Keys and values.
  Answer<SendSessionParameterReply> send(
      int64_t session, const std::vector<std::pair<std::string, std::string>>& parameters) const;

  // Starts a session on `text`, and returns its id; -1 if that fails.
  int64_t startOn(const std::string& text) const;
  // The text of a session; "?" if there is none.
  std::string textOf(int64_t session) const;

 private:
  template <typename Request, typename Reply>
  Answer<Reply> call(const Request& request,
                     grpc::Status (CompilerGymService::Service::*method)(grpc::ServerContext*,
                                                                         const Request*, Reply*),
                     grpc::Status (CompilerGymService::Stub::*stubMethod)(grpc::ClientContext*,
                                                                          const Request&,
                                                                          Reply*)) const;

  CompilerGymService::Service* service_ = nullptr;
  std::chrono::milliseconds timeout_{0};
  std::unique_ptr<CompilerGymService::Stub> stub_;
};

// A benchmark with a program; one without has only a URI.
Benchmark makeBenchmark(const std::string& uri);
Benchmark makeBenchmark(const std::string& uri, const std::string& text);

}  // namespace compiler_gym::toy
