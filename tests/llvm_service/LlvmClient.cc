#include "tests/llvm_service/LlvmClient.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/Statuses.h"
#include "tests/service/runtime/CompilerGymService.h"

namespace compiler_gym::llvm_service {

using grpc::Status;

namespace {

// State shared by all sessions is made here once for all tests, not in each fork server.
const boost::filesystem::path& prepare(const boost::filesystem::path& workingDirectory) {
  LlvmSession(workingDirectory).getActionSpaces();
  return workingDirectory;
}

}  // namespace

LlvmClient::LlvmClient()
    : service_(
          std::make_unique<runtime::CompilerGymService<LlvmSession>>(prepare(directory_.path()))) {
  const GetSpacesRequest request;
  EXPECT_THAT(service_->GetSpaces(nullptr, &request, &spaces_), IsOk());
  for (const ActionSpace& space : spaces_.action_space_list()) {
    EXPECT_TRUE(space.space().any_value().UnpackTo(&actions_.emplace_back()));
  }
}

LlvmClient::~LlvmClient() = default;

int64_t LlvmClient::actionCount(int actionSpace) const {
  return actions_.at(actionSpace).name_size();
}

const std::string& LlvmClient::actionName(int actionSpace, int64_t action) const {
  return actions_.at(actionSpace).name(static_cast<int>(action));
}

int64_t LlvmClient::actionNumber(int actionSpace, const std::string& name) const {
  const auto& names = actions_.at(actionSpace).name();
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << "There is no action " << name;
  return found - names.begin();
}

int LlvmClient::observationIndex(const std::string& name) const {
  const auto& spaces = spaces_.observation_space_list();
  const auto found = std::find_if(spaces.begin(), spaces.end(),
                                  [&](const auto& space) { return space.name() == name; });
  EXPECT_NE(found, spaces.end()) << "There is no observation " << name;
  return static_cast<int>(found - spaces.begin());
}

int64_t LlvmClient::start(const Benchmark& benchmark, int actionSpace) {
  int64_t session = -1;
  EXPECT_THAT(tryStart(benchmark, actionSpace, session), IsOk());
  return session;
}

Status LlvmClient::tryStart(const Benchmark& benchmark, int actionSpace, int64_t& session) {
  StartSessionRequest request;
  *request.mutable_benchmark() = benchmark;
  request.set_action_space(actionSpace);
  StartSessionReply reply;
  const Status status = service_->StartSession(nullptr, &request, &reply);
  session = status.ok() ? reply.session_id() : -1;
  return status;
}

bool LlvmClient::step(int64_t session, const std::vector<int64_t>& actions) {
  StepRequest request;
  request.set_session_id(session);
  for (const int64_t action : actions) {
    request.add_action()->set_int64_value(action);
  }
  StepReply reply;
  EXPECT_THAT(tryStep(request, reply), IsOk());
  EXPECT_FALSE(reply.end_of_session());
  EXPECT_FALSE(reply.has_new_action_space());
  return !reply.action_had_no_effect();
}

Status LlvmClient::tryStep(const StepRequest& request, StepReply& reply) {
  return service_->Step(nullptr, &request, &reply);
}

Event LlvmClient::observe(int64_t session, const std::string& observation) {
  StepRequest request;
  request.set_session_id(session);
  request.add_observation_space(observationIndex(observation));
  StepReply reply;
  EXPECT_THAT(tryStep(request, reply), IsOk()) << observation;
  return reply.observation_size() == 1 ? reply.observation(0) : Event();
}

std::string LlvmClient::text(int64_t session, const std::string& observation) {
  return observe(session, observation).string_value();
}

int64_t LlvmClient::number(int64_t session, const std::string& observation) {
  return observe(session, observation).int64_value();
}

std::string LlvmClient::bitcode(int64_t session) {
  return observe(session, "Bitcode").byte_tensor().value();
}

std::string LlvmClient::send(int64_t session, const std::string& key, const std::string& value) {
  std::string reply;
  EXPECT_THAT(trySend(session, key, value, &reply), IsOk()) << key;
  return reply;
}

Status LlvmClient::trySend(int64_t session, const std::string& key, const std::string& value,
                           std::string* reply) {
  SendSessionParameterRequest request;
  request.set_session_id(session);
  SessionParameter* parameter = request.add_parameter();
  parameter->set_key(key);
  parameter->set_value(value);
  SendSessionParameterReply replies;
  const Status status = service_->SendSessionParameter(nullptr, &request, &replies);
  if (reply != nullptr && replies.reply_size() == 1) *reply = replies.reply(0);
  return status;
}

}  // namespace compiler_gym::llvm_service
