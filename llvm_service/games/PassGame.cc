#include "llvm_service/games/PassGame.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/Flags.h"
#include "llvm_service/Reproducer.h"
#include "llvm_service/games/Games.h"
#include "llvm_service/passes/Levels.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

const std::vector<LoadedPlugin>& plugins() {
  static const std::vector<LoadedPlugin> loaded =
      llvm::cantFail(loadPlugins(FLAGS_load_pass_plugin));
  return loaded;
}

// True if the module is verified after actions that changed it.
bool isVerified(const Action& action, const LlvmSettings& settings) {
  // An action that needs further options of opt is not LLVM's, and may be the first pass of its
  // author.
  const bool isForeign = !action.options.empty();
  return settings.verification == Verification::kAlways ||
         (settings.verification == Verification::kOnExport && (isForeign || action.mayBreakModule));
}

Status start(std::shared_ptr<const Program> program, const ActionList& actions,
             const boost::filesystem::path& workingDirectory, std::unique_ptr<Game>& game) {
  std::unique_ptr<Compilation> compilation;
  RETURN_IF_ERROR(Compilation::start(std::move(program), workingDirectory, compilation, plugins()));
  game = std::make_unique<PassGame>(actions, std::move(compilation));
  return Status::OK;
}

}  // namespace

const GameRules& passGame() {
  static const GameRules rules(
      ActionSpaces::discover(llvm::cantFail(loadPolicy(FLAGS_action_policy)), plugins()).lists,
      listObservations(), start);
  return rules;
}

const Action& PassGame::actionAt(size_t index, const LlvmSettings& settings) {
  const Action& listed = actions_.actions[index];
  if (!settings.forgetsAnalyses || listed.pipeline.empty()) return listed;
  const auto [forgetful, isNew] = forgetful_.try_emplace(index, listed);
  if (isNew) forgetful->second.pipeline += ",invalidate<all>";
  return forgetful->second;
}

Status PassGame::run(const Action& action, const LlvmSettings& settings, bool& changed) {
  RETURN_IF_ERROR(compilation_->apply(action, changed));
  if (!isVerified(action, settings)) return Status::OK;
  const Status status = compilation_->verify();
  return status.ok()
             ? status
             : Status(status.error_code(), "After " + action.name + ", " + status.error_message());
}

Status PassGame::apply(size_t index, int actionsLeft, const LlvmSettings& settings,
                       Outcome& outcome) {
  // Clients can ask for the changes of the last action in a step, so the state before it is
  // recorded, too.
  const Action& action = actionAt(index, settings);
  const bool isJudged = actionsLeft <= 2 || isVerified(action, settings);
  bool changed = false;
  RETURN_IF_ERROR(isJudged ? run(action, settings, changed) : compilation_->applyUnjudged(action));
  outcome.hadNoEffect = !changed;
  return Status::OK;
}

Status PassGame::view(const Observation& observation, View& view) {
  const uint64_t version =
      observation.space.of_last_action() ? compilation_->history().size() : compilation_->version();
  view = {compilation_.get(), version, /*isStable=*/true};
  return Status::OK;
}

Status PassGame::applyBaseline(const std::string& value, const LlvmSettings& settings,
                               std::optional<std::string>& reply) {
  if (value != "-Oz" && value != "-O3") {
    return {StatusCode::INVALID_ARGUMENT,
            "llvm.apply_baseline_optimizations expects -Oz or -O3, not \"" + value + "\""};
  }
  bool changed = false;
  const std::string pipeline = baselinePipeline(value.substr(1));
  for (const ActionList& list : passGame().actions) {
    if (list.name != "Pipelines") continue;
    for (const Action& action : list.actions) {
      if (action.pipeline != pipeline) continue;
      RETURN_IF_ERROR(run(action, settings, changed));
      reply = changed ? "1" : "0";
      return Status::OK;
    }
  }
  return {StatusCode::UNIMPLEMENTED, "This LLVM does not list the pipeline " + pipeline};
}

Status PassGame::handleParameter(const std::string& key, const std::string& value,
                                 const LlvmSettings& settings, std::optional<std::string>& reply) {
  if (key == "llvm.apply_baseline_optimizations") return applyBaseline(value, settings, reply);
  if (key == "llvm.get_baseline_counts") reply = compilation_->program().describeBaselines();
  return Status::OK;
}

Status PassGame::saveReproducer(size_t index, const boost::filesystem::path& directory) {
  return writeReproducer(*compilation_, actions_.actions[index], directory);
}

}  // namespace compiler_gym::llvm_service
