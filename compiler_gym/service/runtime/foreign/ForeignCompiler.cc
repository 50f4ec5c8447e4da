#include "compiler_gym/service/runtime/foreign/ForeignCompiler.h"

#include <iostream>
#include <new>
#include <stdexcept>
#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;
using grpc::StatusCode;

namespace {

// Returns a number that identifies a session in its process.
uint64_t nextId() {
  static uint64_t id = 0;
  return ++id;
}

// Treats a lack of memory as the C++ library does: the handler reports it and ends the session
// process.
[[noreturn]] void failForLackOfMemory() {
  if (const auto handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

std::string_view bytesOf(const uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

// Decodes a reply. A reply that cannot be decoded is a bug in the language binding.
template <typename Message>
Status parse(const std::string& bytes, Message* message) {
  if (message->ParseFromString(bytes)) return Status::OK;
  return Status(StatusCode::INTERNAL,
                "The service replied with bytes that are no " + message->GetTypeName());
}

std::optional<ActionSpace> newActionSpaceOf(StepReply& reply) {
  if (!reply.has_new_action_space()) return std::nullopt;
  return std::move(*reply.mutable_new_action_space());
}

}  // namespace

ForeignCompiler::ForeignCompiler(const ForeignClass& foreign,
                                 const boost::filesystem::path& workingDirectory)
    : CompilationSession(workingDirectory), foreign_(foreign), id_(nextId()) {
  callOrThrow(COMPILER_GYM_CREATE, workingDirectory.string());
}

ForeignCompiler::~ForeignCompiler() {
  std::string ignored;
  const Status status = util::callWithoutExceptions(
      "destroying a session", [&] { return call(COMPILER_GYM_DESTROY, {}, {}, &ignored); });
  // An error here has no caller to go to, only the log.
  if (!status.ok()) std::cerr << "Cannot close a session: " << status.error_message() << std::endl;
}

bool ForeignCompiler::knows(CompilerGymMethod method) const {
  return ((foreign_.methods >> method) & 1) != 0;
}

Status ForeignCompiler::call(CompilerGymMethod method, std::string_view first,
                             std::string_view second, std::string* reply) const {
  const int32_t code = foreign_.function(method, id_, first.data(), first.size(), second.data(),
                                         second.size(), reply);
  if (code == StatusCode::OK) return Status::OK;
  if (code == COMPILER_GYM_OUT_OF_MEMORY) failForLackOfMemory();
  return Status(static_cast<StatusCode>(code), std::exchange(*reply, ""));
}

std::string ForeignCompiler::callOrThrow(CompilerGymMethod method, std::string_view first) const {
  std::string reply;
  const Status status = call(method, first, {}, &reply);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return reply;
}

bool ForeignCompiler::answersYes(CompilerGymMethod method) const {
  std::string flag;
  return call(method, {}, {}, &flag).ok() && !flag.empty() && flag[0] != 0;
}

std::string ForeignCompiler::getCompilerVersion() const {
  return callOrThrow(COMPILER_GYM_VERSION);
}

GetSpacesReply ForeignCompiler::spaces() const {
  GetSpacesReply reply;
  const Status status = parse(callOrThrow(COMPILER_GYM_SPACES), &reply);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return reply;
}

std::vector<ActionSpace> ForeignCompiler::getActionSpaces() const {
  const GetSpacesReply reply = spaces();
  return {reply.action_space_list().begin(), reply.action_space_list().end()};
}

std::vector<ObservationSpace> ForeignCompiler::getObservationSpaces() const {
  const GetSpacesReply reply = spaces();
  return {reply.observation_space_list().begin(), reply.observation_space_list().end()};
}

Status ForeignCompiler::init(const ActionSpace& actionSpace, const Benchmark& benchmark) {
  std::string ignored;
  return call(COMPILER_GYM_INIT, actionSpace.name(), benchmark.SerializeAsString(), &ignored);
}

bool ForeignCompiler::forkable() const {
  return !knows(COMPILER_GYM_FORKABLE) || answersYes(COMPILER_GYM_FORKABLE);
}

Status ForeignCompiler::afterFork() {
  std::string ignored;
  return call(COMPILER_GYM_AFTER_FORK, {}, {}, &ignored);
}

void ForeignCompiler::beginStep(int actions) {
  if (knows(COMPILER_GYM_BEGIN_STEP)) {
    callOrThrow(COMPILER_GYM_BEGIN_STEP, bytesOf(static_cast<uint64_t>(actions)));
  }
}

Status ForeignCompiler::applyAction(const Event& action, bool& endOfEpisode,
                                    std::optional<ActionSpace>& newActionSpace,
                                    bool& actionHadNoEffect) {
  std::string bytes;
  RETURN_IF_ERROR(call(COMPILER_GYM_APPLY_ACTION, action.SerializeAsString(), {}, &bytes));
  StepReply reply;
  RETURN_IF_ERROR(parse(bytes, &reply));
  endOfEpisode = reply.end_of_session();
  actionHadNoEffect = reply.action_had_no_effect();
  newActionSpace = newActionSpaceOf(reply);
  return Status::OK;
}

Status ForeignCompiler::computeObservation(const ObservationSpace& observationSpace,
                                           Event& observation) {
  std::string bytes;
  RETURN_IF_ERROR(call(COMPILER_GYM_OBSERVE, observationSpace.name(), {}, &bytes));
  return parse(bytes, &observation);
}

Status ForeignCompiler::endOfStep(bool actionHadNoEffect, bool& endOfEpisode,
                                  std::optional<ActionSpace>& newActionSpace) {
  if (!knows(COMPILER_GYM_END_STEP)) return Status::OK;
  StepReply step;
  step.set_action_had_no_effect(actionHadNoEffect);
  step.set_end_of_session(endOfEpisode);
  if (newActionSpace) *step.mutable_new_action_space() = *newActionSpace;
  std::string bytes;
  RETURN_IF_ERROR(call(COMPILER_GYM_END_STEP, step.SerializeAsString(), {}, &bytes));
  RETURN_IF_ERROR(parse(bytes, &step));
  endOfEpisode = step.end_of_session();
  newActionSpace = newActionSpaceOf(step);
  return Status::OK;
}

Status ForeignCompiler::handleSessionParameter(const std::string& key, const std::string& value,
                                               std::optional<std::string>& reply) {
  if (!knows(COMPILER_GYM_PARAMETER)) return Status::OK;
  std::string bytes;
  RETURN_IF_ERROR(call(COMPILER_GYM_PARAMETER, key, value, &bytes));
  SendSessionParameterReply replies;
  RETURN_IF_ERROR(parse(bytes, &replies));
  if (replies.reply_size() > 0) reply = replies.reply(0);
  return Status::OK;
}

Status ForeignCompiler::saveReproducer(const Event& action,
                                       const boost::filesystem::path& directory) {
  if (!knows(COMPILER_GYM_REPRODUCER)) return CompilationSession::saveReproducer(action, directory);
  std::string ignored;
  return call(COMPILER_GYM_REPRODUCER, action.SerializeAsString(), directory.string(), &ignored);
}

void ForeignCompiler::afterReply() {
  if (knows(COMPILER_GYM_AFTER_REPLY)) callOrThrow(COMPILER_GYM_AFTER_REPLY);
}

bool ForeignCompiler::holdsOnlyMemory() const {
  return knows(COMPILER_GYM_HOLDS_ONLY_MEMORY) && answersYes(COMPILER_GYM_HOLDS_ONLY_MEMORY);
}

}  // namespace compiler_gym::runtime
