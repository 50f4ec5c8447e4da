#include "llvm_service/inline_regalloc/InlineRegallocGame.h"

#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm_service/games/Games.h"
#include "llvm_service/inline_regalloc/InlineRegallocObservations.h"
#include "llvm_service/inlining/InlineActions.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

ActionList listActions() {
  ActionList list{"InlineThenEvict", {}};
  const std::vector<Action> calls = listInlineActions().front().toList().actions;
  const std::vector<Action> registers = regallocGame().actions.front().actions;
  for (size_t i = 0; i < InlineRegallocGame::kFirstEviction; ++i) {
    list.actions.push_back({calls[i].name, calls[i].name, calls[i].description});
  }
  llvm::append_range(list.actions, registers);
  return list;
}

GameRules makeRules() {
  const auto start = [](std::shared_ptr<const Program> program, const ActionList& /*actions*/,
                        const boost::filesystem::path& workingDirectory,
                        std::unique_ptr<Game>& game) {
    std::unique_ptr<InlineRegallocGame> started;
    RETURN_IF_ERROR(InlineRegallocGame::start(std::move(program), workingDirectory, started));
    game = std::move(started);
    return Status::OK;
  };
  return {{listActions()}, listInlineRegallocObservations(), start};
}

}  // namespace

const GameRules& inlineRegallocGame() {
  static const GameRules rules = makeRules();
  return rules;
}

Status InlineRegallocGame::start(std::shared_ptr<const Program> program,
                                 const boost::filesystem::path& workingDirectory,
                                 std::unique_ptr<InlineRegallocGame>& game) {
  std::unique_ptr<InlineRegallocGame> started(new InlineRegallocGame());
  RETURN_IF_ERROR(
      InlineGame::start(program, /*isInOrder=*/true, workingDirectory, started->inlining_));
  RETURN_IF_ERROR(RegallocGame::start(std::move(program), AllocatorDecision::kEviction,
                                      workingDirectory, started->registers_));
  started->allocated_ = started->inlining_->updates();
  game = std::move(started);
  return Status::OK;
}

Status InlineRegallocGame::apply(size_t index, int /*actionsLeft*/, const LlvmSettings& settings,
                                 Outcome& outcome) {
  RETURN_IF_ERROR(isAboutCall() ? answerCall(index, settings, outcome)
                                : answerRegister(index, settings, outcome));
  if (!outcome.hadNoEffect) ++version_;
  if (isAboutCall()) return Status::OK;
  RETURN_IF_ERROR(allocate());
  outcome.endsEpisode = registers_->openQuestion() == nullptr;
  return Status::OK;
}

Status InlineRegallocGame::answerCall(size_t index, const LlvmSettings& settings,
                                      Outcome& outcome) {
  if (index >= kFirstEviction && index != kDefault) {
    return {StatusCode::INVALID_ARGUMENT, "The inliner asks about a call of " +
                                              inlining_->openQuestion()->callee +
                                              ". Expected one of keep, inline, default"};
  }
  // The order in listInlineActions().
  const size_t answer = index == kDefault ? kFirstEviction : index;
  return inlining_->apply(answer, /*actionsLeft=*/1, settings, outcome);
}

Status InlineRegallocGame::answerRegister(size_t index, const LlvmSettings& settings,
                                          Outcome& outcome) {
  RETURN_IF_ERROR(allocate());
  const AllocatorQuestion* question = registers_->openQuestion();
  if (index < kFirstEviction && question != nullptr) {
    return {StatusCode::INVALID_ARGUMENT,
            "The register allocator asks about " + question->function +
                ". Expected a candidate, none or default, as the mask allows"};
  }
  if (index < kFirstEviction) {
    outcome.hadNoEffect = true;
    return Status::OK;
  }
  return registers_->apply(index - kFirstEviction, /*actionsLeft=*/1, settings, outcome);
}

Status InlineRegallocGame::allocate() {
  if (allocated_ == inlining_->updates()) return Status::OK;
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(inlining_->compilation().bitcode(), owned));
  RETURN_IF_ERROR(registers_->restart(std::move(owned)));
  allocated_ = inlining_->updates();
  return Status::OK;
}

Status InlineRegallocGame::view(const Observation& observation, View& view) {
  if (isOfInlining(observation.space)) {
    RETURN_IF_ERROR(inlining_->view(observation, view));
  } else {
    RETURN_IF_ERROR(allocate());
    RETURN_IF_ERROR(registers_->view(observation, view));
  }
  view.version = version_;
  return Status::OK;
}

void InlineRegallocGame::visitCompilations(const Visitor& visitor) {
  inlining_->visitCompilations(visitor);
  registers_->visitCompilations(visitor);
}

}  // namespace compiler_gym::llvm_service
