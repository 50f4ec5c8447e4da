#include "llvm_service/LlvmSession.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm_service/Flags.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/Target.h"
#include "llvm_service/observations/Utf8.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

/// State shared by all sessions, in their processes and those that were forked from them.
struct Shared {
  std::shared_ptr<SharedCosts> costs = std::make_shared<SharedCosts>();
  std::shared_ptr<const BaselineFile> baselineFile = openBaselineFile();
  // The initial settings of sessions.
  LlvmSettings settings = settingsOfFlags();
};

// Created at the first use, after the flags have been parsed.
Shared& shared() {
  static Shared instance;
  return instance;
}

Status readAction(const Event& event, const ActionList& list, size_t& index) {
  const int64_t size = static_cast<int64_t>(list.actions.size());
  if (event.value_case() != Event::kInt64Value) {
    return {StatusCode::INVALID_ARGUMENT, "An action of " + list.name +
                                              " is an int64_value in the range [0, " +
                                              std::to_string(size) + ")"};
  }
  if (event.int64_value() < 0 || event.int64_value() >= size) {
    return {StatusCode::INVALID_ARGUMENT, list.name + "(" + std::to_string(event.int64_value()) +
                                              ") is not in range [0, " + std::to_string(size) +
                                              ")"};
  }
  index = static_cast<size_t>(event.int64_value());
  return Status::OK;
}

}  // namespace

LlvmSession::LlvmSession(const boost::filesystem::path& workingDirectory, const GameRules& rules)
    : CompilationSession(workingDirectory),
      rules_(rules),
      settings_(shared().settings),
      targetTriple_(FLAGS_target_triple),
      observed_(rules.observations.size()) {
  settings_.verification = parseVerification(FLAGS_verify).value();
}

std::string LlvmSession::getCompilerVersion() const { return versionOfLlvm(); }

std::vector<ActionSpace> LlvmSession::getActionSpaces() const {
  std::vector<ActionSpace> spaces;
  for (const ActionList& list : rules_.actions) spaces.push_back(list.toProto());
  return spaces;
}

std::vector<ObservationSpace> LlvmSession::getObservationSpaces() const {
  std::vector<ObservationSpace> spaces;
  for (const Observation& observation : rules_.observations) spaces.push_back(observation.space);
  return spaces;
}

Status LlvmSession::init(const ActionSpace& actionSpace, const Benchmark& benchmark) {
  const auto list = llvm::find_if(
      rules_.actions, [&](const ActionList& each) { return each.name == actionSpace.name(); });
  if (list == rules_.actions.end()) {
    return {StatusCode::INVALID_ARGUMENT, "Unknown action space \"" + actionSpace.name() + "\""};
  }
  actions_ = &*list;
  RETURN_IF_ERROR(Program::load(benchmark, FLAGS_max_program_bytes, program_, shared().costs,
                                shared().baselineFile));
  return start(targetTriple_);
}

Status LlvmSession::start(const std::string& triple) {
  std::shared_ptr<const Program> program = program_;
  if (!triple.empty()) RETURN_IF_ERROR(program_->forTarget(triple, program));
  return rules_.start(std::move(program), *actions_, workingDirectory(), game_);
}

Status LlvmSession::setTargetTriple(const std::string& triple) {
  if (triple == targetTriple_) return Status::OK;
  if (hasActed_) {
    return {StatusCode::FAILED_PRECONDITION,
            "The target can be set before the first action of a session only"};
  }
  RETURN_IF_ERROR(start(triple));
  targetTriple_ = triple;
  return Status::OK;
}

Status LlvmSession::applyAction(const Event& action, bool& endOfEpisode,
                                std::optional<ActionSpace>& /*newActionSpace*/,
                                bool& actionHadNoEffect) {
  size_t index = 0;
  RETURN_IF_ERROR(readAction(action, *actions_, index));
  hasActed_ = true;
  Outcome outcome;
  RETURN_IF_ERROR(game_->apply(index, actionsLeft_--, settings_, outcome));
  endOfEpisode = outcome.endsEpisode;
  actionHadNoEffect = outcome.hadNoEffect;
  return Status::OK;
}

Status LlvmSession::computeObservation(const ObservationSpace& observationSpace,
                                       Event& observation) {
  const auto found = rules_.observationIndices.find(observationSpace.name());
  if (found == rules_.observationIndices.end()) {
    return {StatusCode::INVALID_ARGUMENT,
            "Unknown observation space \"" + observationSpace.name() + "\""};
  }
  const Observation& kind = rules_.observations[found->second];
  View view;
  RETURN_IF_ERROR(game_->view(kind, view));
  Observed& observed = observed_[found->second];
  if (observed.value && observed.value->first == view.version) {
    observation = observed.value->second;
    return Status::OK;
  }
  if (kind.exports && settings_.verification != Verification::kNever) {
    RETURN_IF_ERROR(view.compilation->verify());
  }
  std::any* kept = view.isStable ? &observed.kept : nullptr;
  RETURN_IF_ERROR(kind.compute(
      {*view.compilation, settings_.runCounts, settings_.ir2vecVocabulary.get(), kept, game_.get()},
      observation));
  escapeInvalidUtf8(observation);
  if (kind.space.deterministic()) observed.value.emplace(view.version, observation);
  return Status::OK;
}

Status LlvmSession::handleSessionParameter(const std::string& key, const std::string& value,
                                           std::optional<std::string>& reply) {
  const bool isQuestion = llvm::StringRef(key).rsplit('.').second.starts_with("get_");
  RETURN_IF_ERROR(game_->handleParameter(key, value, settings_, reply));
  if (reply) {
    hasActed_ |= !isQuestion;
    return Status::OK;
  }
  if (key == "llvm.set_target_triple") RETURN_IF_ERROR(setTargetTriple(value));
  if (key == "llvm.set_target_triple" || key == "llvm.get_target_triple") {
    game_->visitCompilations([&](Compilation& each) { reply = targetName(each.module()); });
  } else {
    RETURN_IF_ERROR(settings_.handle(key, value, reply));
  }
  if (reply && !isQuestion) {  // Observations may depend on the parameter.
    observed_ = std::vector<Observed>(observed_.size());
  }
  return Status::OK;
}

Status LlvmSession::saveReproducer(const Event& action, const boost::filesystem::path& directory) {
  size_t index = 0;
  RETURN_IF_ERROR(readAction(action, *actions_, index));
  return game_->saveReproducer(index, directory);
}

void LlvmSession::afterReply() {
  if (game_) game_->visitCompilations([](Compilation& each) { each.catchUp(); });
}

Status LlvmSession::afterFork() {
  game_->visitCompilations([](Compilation& each) { each.executable().afterFork(); });
  return Status::OK;
}

bool LlvmSession::holdsOnlyMemory() const {
  bool isBuilt = false;
  if (game_) {
    game_->visitCompilations([&](Compilation& each) { isBuilt |= each.executable().isBuilt(); });
  }
  return !isBuilt;
}

}  // namespace compiler_gym::llvm_service
