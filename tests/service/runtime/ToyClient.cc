#include "tests/service/runtime/ToyClient.h"

#include <algorithm>

#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::toy {

int64_t actionNumber(const std::string& name) {
  const std::vector<std::string>& names = ToySession::editNames();
  return std::find(names.begin(), names.end(), name) - names.begin();
}

ToyClient::ToyClient(int port, std::chrono::milliseconds timeout) : timeout_(timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  stub_ = CompilerGymService::NewStub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
}

template <typename Request, typename Reply>
Answer<Reply> ToyClient::call(
    const Request& request,
    grpc::Status (CompilerGymService::Service::*method)(grpc::ServerContext*, const Request*,
                                                        Reply*),
    grpc::Status (CompilerGymService::Stub::*stubMethod)(grpc::ClientContext*, const Request&,
                                                         Reply*)) const {
  Answer<Reply> answer;
  if (service_) {
    answer.status = (service_->*method)(nullptr, &request, &answer.reply);
  } else {
    grpc::ClientContext context;
    if (timeout_.count() > 0) context.set_deadline(std::chrono::system_clock::now() + timeout_);
    answer.status = (stub_.get()->*stubMethod)(&context, request, &answer.reply);
  }
  return answer;
}

Answer<GetVersionReply> ToyClient::getVersion() const {
  return call<GetVersionRequest, GetVersionReply>({}, &CompilerGymService::Service::GetVersion,
                                                  &CompilerGymService::Stub::GetVersion);
}

Answer<GetSpacesReply> ToyClient::getSpaces() const {
  return call<GetSpacesRequest, GetSpacesReply>({}, &CompilerGymService::Service::GetSpaces,
                                                &CompilerGymService::Stub::GetSpaces);
}

Answer<StartSessionReply> ToyClient::start(const Benchmark& benchmark,
                                           const std::vector<int32_t>& observations,
                                           int32_t actionSpace) const {
  StartSessionRequest request;
  *request.mutable_benchmark() = benchmark;
  request.set_action_space(actionSpace);
  *request.mutable_observation_space() = {observations.begin(), observations.end()};
  return call(request, &CompilerGymService::Service::StartSession,
              &CompilerGymService::Stub::StartSession);
}

Answer<ForkSessionReply> ToyClient::fork(int64_t session) const {
  ForkSessionRequest request;
  request.set_session_id(session);
  return call(request, &CompilerGymService::Service::ForkSession,
              &CompilerGymService::Stub::ForkSession);
}

Answer<EndSessionReply> ToyClient::end(int64_t session) const {
  EndSessionRequest request;
  request.set_session_id(session);
  return call(request, &CompilerGymService::Service::EndSession,
              &CompilerGymService::Stub::EndSession);
}

Answer<StepReply> ToyClient::step(int64_t session, const std::vector<std::string>& actions,
                                  const std::vector<int32_t>& observations) const {
  StepRequest request;
  request.set_session_id(session);
  for (const std::string& action : actions) {
    request.add_action()->set_int64_value(actionNumber(action));
  }
  *request.mutable_observation_space() = {observations.begin(), observations.end()};
  return step(request);
}

Answer<StepReply> ToyClient::step(const StepRequest& request) const {
  return call(request, &CompilerGymService::Service::Step, &CompilerGymService::Stub::Step);
}

Answer<AddBenchmarkReply> ToyClient::add(const std::vector<Benchmark>& benchmarks) const {
  AddBenchmarkRequest request;
  *request.mutable_benchmark() = {benchmarks.begin(), benchmarks.end()};
  return call(request, &CompilerGymService::Service::AddBenchmark,
              &CompilerGymService::Stub::AddBenchmark);
}

Answer<SendSessionParameterReply> ToyClient::send(
    int64_t session, const std::vector<std::pair<std::string, std::string>>& parameters) const {
  SendSessionParameterRequest request;
  request.set_session_id(session);
  for (const auto& [key, value] : parameters) {
    SessionParameter* parameter = request.add_parameter();
    parameter->set_key(key);
    parameter->set_value(value);
  }
  return call(request, &CompilerGymService::Service::SendSessionParameter,
              &CompilerGymService::Stub::SendSessionParameter);
}

int64_t ToyClient::startOn(const std::string& text) const {
  const auto answer = start(makeBenchmark("benchmark://toy-v0/" + text, text));
  return answer.ok() ? answer.reply.session_id() : -1;
}

std::string ToyClient::textOf(int64_t session) const {
  const auto answer = step(session, {}, {kText});
  return answer.ok() ? answer.reply.observation(0).string_value() : "?";
}

Benchmark makeBenchmark(const std::string& uri) {
  Benchmark benchmark;
  benchmark.set_uri(uri);
  return benchmark;
}

Benchmark makeBenchmark(const std::string& uri, const std::string& text) {
  Benchmark benchmark = makeBenchmark(uri);
  benchmark.mutable_program()->set_contents(text);
  return benchmark;
}

}  // namespace compiler_gym::toy
