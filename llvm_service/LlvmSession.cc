#include "llvm_service/LlvmSession.h"

#include <unordered_map>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/Flags.h"
#include "llvm_service/LlvmCompatibility.h"
#include "llvm_service/Reproducer.h"
#include "llvm_service/Target.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

/// State shared by all sessions, in their processes and those that were forked from them.
struct Shared {
  std::vector<LoadedPlugin> plugins;
  ActionSpaces actionSpaces;
  Observations observations;
  std::unordered_map<std::string, size_t> observationIndices;
  std::shared_ptr<SharedCosts> costs = std::make_shared<SharedCosts>();
  std::shared_ptr<const BaselineFile> baselineFile;
  // The initial settings of sessions.
  SessionSettings settings;

  Shared()
      : plugins(llvm::cantFail(loadPlugins(FLAGS_load_pass_plugin))),
        actionSpaces(
            ActionSpaces::discover(llvm::cantFail(loadPolicy(FLAGS_action_policy)), plugins)),
        observations(listObservations()),
        baselineFile(openBaselineFile()),
        settings(settingsOfFlags()) {
    for (size_t i = 0; i < observations.size(); ++i) {
      observationIndices.emplace(observations[i].space.name(), i);
    }
  }
};

// Made on first use, which is after the flags were parsed.
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

// The action, after which analyses are forgotten.
Action forgetAfter(Action action) {
  if (!action.pipeline.empty()) {
    action.pipeline += ",invalidate<all>";
  }
  return action;
}

}  // namespace

LlvmSession::LlvmSession(const boost::filesystem::path& workingDirectory)
    : CompilationSession(workingDirectory), observed_(shared().observations.size()) {
  settings_ = shared().settings;
  settings_.verification = parseVerification(FLAGS_verify).value();
  targetTriple_ = FLAGS_target_triple;
}

std::string LlvmSession::getCompilerVersion() const { return versionOfLlvm(); }

std::vector<ActionSpace> LlvmSession::getActionSpaces() const {
  std::vector<ActionSpace> spaces;
  for (const ActionList& list : shared().actionSpaces.lists) {
    spaces.push_back(list.toProto());
  }
  return spaces;
}

std::vector<ObservationSpace> LlvmSession::getObservationSpaces() const {
  std::vector<ObservationSpace> spaces;
  for (const Observation& observation : shared().observations) {
    spaces.push_back(observation.space);
  }
  return spaces;
}

Status LlvmSession::init(const ActionSpace& actionSpace, const Benchmark& benchmark) {
  actions_ = shared().actionSpaces.find(actionSpace.name());
  if (actions_ == nullptr) {
    return {StatusCode::INVALID_ARGUMENT, "Unknown action space \"" + actionSpace.name() + "\""};
  }
  RETURN_IF_ERROR(Program::load(benchmark, FLAGS_max_program_bytes, program_, shared().costs,
                                shared().baselineFile));
  return start(program_);
}

Status LlvmSession::start(std::shared_ptr<const Program> program) {
  if (!targetTriple_.empty()) {
    std::shared_ptr<const Program> retargeted;
    RETURN_IF_ERROR(program->forTarget(targetTriple_, retargeted));
    program = std::move(retargeted);
  }
  return Compilation::start(std::move(program), workingDirectory(), compilation_, shared().plugins);
}

Status LlvmSession::setTargetTriple(const std::string& triple) {
  if (triple == targetTriple_) {
    return Status::OK;
  }
  if (!compilation_->history().empty()) {
    return {StatusCode::FAILED_PRECONDITION,
            "The target can be set before the first action of a session only"};
  }
  const std::string previous = std::exchange(targetTriple_, triple);
  const Status status = start(program_);
  if (!status.ok()) {
    targetTriple_ = previous;
  }
  return status;
}

Status LlvmSession::run(const Action& action, bool& changed) {
  RETURN_IF_ERROR(compilation_->apply(action, changed));
  if (!isVerified(action)) {
    return Status::OK;
  }
  const Status status = compilation_->verify();
  return status.ok()
             ? status
             : Status(status.error_code(), "After " + action.name + ", " + status.error_message());
}

bool LlvmSession::isVerified(const Action& action) const {
  // What opt has to be given more for is not LLVM's: it may be anybody's first pass.
  const bool isForeign = !action.options.empty();
  return settings_.verification == Verification::kAlways ||
         (settings_.verification == Verification::kOnExport &&
          (isForeign || action.mayBreakModule));
}

Status LlvmSession::applyAction(const Event& action, bool& endOfEpisode,
                                std::optional<ActionSpace>& newActionSpace,
                                bool& actionHadNoEffect) {
  size_t index = 0;
  RETURN_IF_ERROR(readAction(action, *actions_, index));
  // What the last action of a step has changed can be asked for, so those before are told apart.
  const Action& chosen = actions_->actions[index];
  const bool isJudged = --actionsLeft_ < 2 || isVerified(chosen);
  bool changed = false;
  std::optional<Action> forgetful;
  if (settings_.forgetsAnalyses) {
    forgetful = forgetAfter(chosen);
  }
  const Action& applied = forgetful ? *forgetful : chosen;
  RETURN_IF_ERROR(isJudged ? run(applied, changed) : compilation_->applyUnjudged(applied));
  actionHadNoEffect = !changed;
  endOfEpisode = false;  // A program can always be optimised further.
  newActionSpace.reset();
  return Status::OK;
}

Status LlvmSession::computeObservation(const ObservationSpace& observationSpace,
                                       Event& observation) {
  const auto found = shared().observationIndices.find(observationSpace.name());
  if (found == shared().observationIndices.end()) {
    return {StatusCode::INVALID_ARGUMENT,
            "Unknown observation space \"" + observationSpace.name() + "\""};
  }
  const Observation& kind = shared().observations[found->second];
  Observed& observed = observed_[found->second];
  const uint64_t version =
      kind.space.of_last_action() ? compilation_->history().size() : compilation_->version();
  if (observed.value && observed.value->first == version) {
    observation = observed.value->second;
    return Status::OK;
  }
  if (kind.exports && settings_.verification != Verification::kNever) {
    RETURN_IF_ERROR(compilation_->verify());
  }
  RETURN_IF_ERROR(kind.compute(
      {*compilation_, settings_.runCounts, settings_.ir2vecVocabulary.get(), &observed.kept},
      observation));
  if (kind.space.deterministic()) {
    observed.value.emplace(version, observation);
  }
  return Status::OK;
}

Status LlvmSession::applyBaseline(const std::string& value, std::optional<std::string>& reply) {
  if (value != "-Oz" && value != "-O3") {
    return {StatusCode::INVALID_ARGUMENT,
            "llvm.apply_baseline_optimizations expects -Oz or -O3, not \"" + value + "\""};
  }
  bool changed = false;
  const std::string pipeline = "default<" + value.substr(1) + ">";
  const auto& pipelines = shared().actionSpaces.find("Pipelines")->actions;
  const auto action =
      llvm::find_if(pipelines, [&](const Action& each) { return each.pipeline == pipeline; });
  if (action == pipelines.end()) {
    return {StatusCode::UNIMPLEMENTED, "This LLVM does not list the pipeline " + pipeline};
  }
  RETURN_IF_ERROR(run(*action, changed));
  reply = changed ? "1" : "0";
  return Status::OK;
}

Status LlvmSession::handleSessionParameter(const std::string& key, const std::string& value,
                                           std::optional<std::string>& reply) {
  if (key == "llvm.apply_baseline_optimizations") {
    return applyBaseline(value, reply);
  }
  if (key == "llvm.set_target_triple") {
    RETURN_IF_ERROR(setTargetTriple(value));
  }
  if (key == "llvm.set_target_triple" || key == "llvm.get_target_triple") {
    reply = targetName(compilation_->module());
  } else if (key == "llvm.get_baseline_counts") {
    reply = compilation_->program().describeBaselines();
  } else {
    RETURN_IF_ERROR(settings_.handle(key, value, reply));
  }
  const bool isQuestion = llvm::StringRef(key).rsplit('.').second.starts_with("get_");
  if (reply && !isQuestion) {  // What was observed may depend on what was set.
    observed_ = std::vector<Observed>(observed_.size());
  }
  return Status::OK;
}

Status LlvmSession::saveReproducer(const Event& action, const boost::filesystem::path& directory) {
  size_t index = 0;
  RETURN_IF_ERROR(readAction(action, *actions_, index));
  return writeReproducer(*compilation_, actions_->actions[index], directory);
}

Status LlvmSession::afterFork() {
  compilation_->executable().afterFork();
  return Status::OK;
}

bool LlvmSession::holdsOnlyMemory() const {
  return !compilation_ || !compilation_->executable().isBuilt();
}

}  // namespace compiler_gym::llvm_service
