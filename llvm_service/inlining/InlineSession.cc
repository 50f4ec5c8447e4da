#include "llvm_service/inlining/InlineSession.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/Flags.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/Target.h"
#include "llvm_service/inlining/InlineObservations.h"
#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

/// State shared by all sessions, in their processes and those that were forked from them.
struct Shared {
  // Those that do not change with the last action only.
  std::unordered_map<std::string, Observation> ofProgram;
  std::unordered_map<std::string, InlineObservation> ofGame;
  std::vector<ObservationSpace> spaces;
  std::shared_ptr<SharedCosts> costs = std::make_shared<SharedCosts>();
  std::shared_ptr<const BaselineFile> baselineFile;
  // The initial settings of sessions.
  SessionSettings settings;

  Shared() : baselineFile(openBaselineFile()), settings(settingsOfFlags()) {
    for (Observation& observation : listObservations()) {
      if (observation.space.of_last_action()) continue;
      spaces.push_back(observation.space);
      ofProgram.emplace(spaces.back().name(), std::move(observation));
    }
    for (InlineObservation& observation : listInlineObservations()) {
      spaces.push_back(observation.space);
      ofGame.emplace(spaces.back().name(), std::move(observation));
    }
  }
};

// Made on first use, which is after the flags were parsed.
Shared& shared() {
  static Shared instance;
  return instance;
}

Status readAction(const Event& event, const InlineActions& actions, size_t& index) {
  const int64_t size = static_cast<int64_t>(actions.decisions.size());
  if (event.value_case() != Event::kInt64Value || event.int64_value() < 0 ||
      event.int64_value() >= size) {
    return {StatusCode::INVALID_ARGUMENT, "An action of " + actions.name +
                                              " is an int64_value in the range [0, " +
                                              std::to_string(size) + ")"};
  }
  index = static_cast<size_t>(event.int64_value());
  return Status::OK;
}

}  // namespace

InlineSession::InlineSession(const boost::filesystem::path& workingDirectory)
    : CompilationSession(workingDirectory),
      targetTriple_(FLAGS_target_triple),
      settings_(shared().settings) {}

std::string InlineSession::getCompilerVersion() const { return versionOfLlvm(); }

std::vector<ActionSpace> InlineSession::getActionSpaces() const {
  std::vector<ActionSpace> spaces;
  for (const InlineActions& actions : listInlineActions()) spaces.push_back(actions.toProto());
  return spaces;
}

std::vector<ObservationSpace> InlineSession::getObservationSpaces() const {
  return shared().spaces;
}

Status InlineSession::init(const ActionSpace& actionSpace, const Benchmark& benchmark) {
  for (const InlineActions& each : listInlineActions()) {
    if (each.name == actionSpace.name()) actions_ = &each;
  }
  if (actions_ == nullptr) {
    return {StatusCode::INVALID_ARGUMENT, "Unknown action space \"" + actionSpace.name() + "\""};
  }
  RETURN_IF_ERROR(Program::load(benchmark, FLAGS_max_program_bytes, program_, shared().costs,
                                shared().baselineFile));
  return start();
}

Status InlineSession::start() {
  std::shared_ptr<const Program> program = program_;
  if (!targetTriple_.empty()) RETURN_IF_ERROR(program_->forTarget(targetTriple_, program));
  return InlineGame::start(std::move(program), actions_->isInOrder, workingDirectory(), game_);
}

Status InlineSession::setTargetTriple(const std::string& triple) {
  if (triple == targetTriple_) return Status::OK;
  if (hasActed_) {
    return {StatusCode::FAILED_PRECONDITION,
            "The target can be set before the first action of a session only"};
  }
  const std::string previous = std::exchange(targetTriple_, triple);
  const Status status = start();
  if (!status.ok()) targetTriple_ = previous;
  return status;
}

Status InlineSession::applyAction(const Event& action, bool& endOfEpisode,
                                  std::optional<ActionSpace>& /*newActionSpace*/,
                                  bool& actionHadNoEffect) {
  size_t index = 0;
  RETURN_IF_ERROR(readAction(action, *actions_, index));
  hasActed_ = true;
  actionHadNoEffect = !game_->decide(actions_->decisions[index]);
  // Of decisions in any order the last of a step is soon enough.
  if (--actionsLeft_ < 1 || actions_->isInOrder) RETURN_IF_ERROR(game_->update());
  endOfEpisode = actions_->isInOrder && game_->openQuestion() == nullptr;
  return Status::OK;
}

Status InlineSession::computeObservation(const ObservationSpace& observationSpace,
                                         Event& observation) {
  RETURN_IF_ERROR(game_->update());
  const std::string& name = observationSpace.name();
  const auto known = observed_.find(name);
  if (known != observed_.end() && known->second.first == game_->version()) {
    observation = known->second.second;
    return Status::OK;
  }
  RETURN_IF_ERROR(compute(name, observation));
  if (observationSpace.deterministic()) {
    observed_[name] = std::make_pair(game_->version(), observation);
  }
  return Status::OK;
}

Status InlineSession::compute(const std::string& name, Event& observation) {
  const auto ofGame = shared().ofGame.find(name);
  if (ofGame != shared().ofGame.end()) return ofGame->second.compute(*game_, observation);
  const auto ofProgram = shared().ofProgram.find(name);
  if (ofProgram == shared().ofProgram.end()) {
    return {StatusCode::INVALID_ARGUMENT, "Unknown observation space \"" + name + "\""};
  }
  return ofProgram->second.compute(
      {game_->compilation(), settings_.runCounts, settings_.ir2vecVocabulary.get()}, observation);
}

Status InlineSession::handleSessionParameter(const std::string& key, const std::string& value,
                                             std::optional<std::string>& reply) {
  if (key == "llvm.set_target_triple") RETURN_IF_ERROR(setTargetTriple(value));
  if (key == "llvm.set_target_triple" || key == "llvm.get_target_triple") {
    reply = targetName(game_->compilation().module());
  } else {
    RETURN_IF_ERROR(settings_.handle(key, value, reply));
  }
  if (reply) observed_.clear();  // What was observed may depend on what was set.
  return Status::OK;
}

Status InlineSession::afterFork() {
  game_->compilation().executable().afterFork();
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
