#include "llvm_service/inlining/InlineGame.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/TargetMachine.h"
#include "llvm_service/games/Games.h"
#include "llvm_service/inlining/InlineFeatures.h"
#include "llvm_service/inlining/InlineObservations.h"
#include "llvm_service/passes/CallSites.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;

std::vector<size_t> openSitesOf(llvm::Module& module) {
  const auto machine =
      createTargetMachine(module, llvm::CodeGenOptLevel::Default, llvm::Reloc::PIC_);
  std::optional<llvm::TargetTransformInfo> info;
  return openCallSites(module, [&](llvm::Function& function) -> const llvm::TargetTransformInfo& {
    // As in opt, a target that this LLVM lacks has the costs of an abstract target.
    return info.emplace(machine ? machine->getTargetTransformInfo(function)
                                : llvm::TargetTransformInfo(module.getDataLayout()));
  });
}

GameRules makeRules() {
  std::vector<ActionList> lists;
  for (const InlineActions& actions : listInlineActions()) lists.push_back(actions.toList());
  const Observations own = listInlineObservations();
  Observations observations = observationsOfProgram(own);
  llvm::append_range(observations, own);
  const auto start = [](std::shared_ptr<const Program> program, const ActionList& actions,
                        const boost::filesystem::path& workingDirectory,
                        std::unique_ptr<Game>& game) {
    std::unique_ptr<InlineGame> started;
    const bool isInOrder = actions.name == listInlineActions().front().name;
    RETURN_IF_ERROR(InlineGame::start(std::move(program), isInOrder, workingDirectory, started));
    game = std::move(started);
    return Status::OK;
  };
  return {std::move(lists), std::move(observations), start};
}

}  // namespace

const GameRules& inlineGame() {
  static const GameRules rules = makeRules();
  return rules;
}

InlineGame::InlineGame(std::shared_ptr<const Program> program, bool isInOrder,
                       const boost::filesystem::path& workingDirectory)
    : program_(std::move(program)), isInOrder_(isInOrder), workingDirectory_(workingDirectory) {}

Status InlineGame::start(std::shared_ptr<const Program> program, bool isInOrder,
                         const boost::filesystem::path& workingDirectory,
                         std::unique_ptr<InlineGame>& game) {
  std::unique_ptr<InlineGame> started(
      new InlineGame(std::move(program), isInOrder, workingDirectory));
  RETURN_IF_ERROR(started->listSites());
  RETURN_IF_ERROR(started->update());
  started->defaultCounts_ = started->counts();
  started->defaultInstructions_ = started->compilation().module().getInstructionCount();
  game = std::move(started);
  return Status::OK;
}

Status InlineGame::view(const Observation& /*observation*/, View& view) {
  RETURN_IF_ERROR(update());
  view = {compilation_.get(), version()};
  return Status::OK;
}

Status InlineGame::apply(size_t index, int actionsLeft, const LlvmSettings& /*settings*/,
                         Outcome& outcome) {
  outcome.hadNoEffect = !decide(listInlineActions()[isInOrder_ ? 0 : 1].decisions[index]);
  // With decisions in any order, one update at the end of a step is enough.
  if (actionsLeft < 2 || isInOrder_) RETURN_IF_ERROR(update());
  outcome.endsEpisode = isInOrder_ && openQuestion() == nullptr;
  return Status::OK;
}

Status InlineGame::listSites() {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program_->bitcode(), owned));
  const auto calls = callSites(*owned.module);
  const std::vector<size_t> callees = calleeNumbers(calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    sites_.push_back({calls[i]->getFunction()->getName().str(),
                      calls[i]->getCalledFunction()->getName().str(), callees[i],
                      /*isOpen=*/false});
  }
  for (const size_t site : openSitesOf(*owned.module)) sites_[site].isOpen = true;
  choices_.resize(sites_.size(), InlineChoice::kDefault);
  return Status::OK;
}

bool InlineGame::decide(const InlineDecision& decision) {
  return decision.target == InlineDecision::Target::kQuestion ? answer(decision.choice)
                                                              : decideSites(decision);
}

bool InlineGame::answer(InlineChoice choice) {
  if (openQuestion() == nullptr) return false;
  InlineQuestion& question = questions_[answers_.size()];
  answers_.push_back(choice);
  question.decided = choice != InlineChoice::kDefault;
  // The inliner repeats its last run, which had no answer, and asks the same questions.
  const bool isForeseen =
      !question.decided || (choice == InlineChoice::kInline) == question.byDefault;
  const bool hasFeatures = openQuestion() == nullptr || !features_[answers_.size()].empty();
  isCurrent_ = isCurrent_ && isForeseen && hasFeatures;
  return true;
}

bool InlineGame::decideSites(const InlineDecision& decision) {
  bool changed = false;
  for (size_t site = 0; site < sites_.size(); ++site) {
    const size_t number =
        decision.target == InlineDecision::Target::kSite ? site : sites_[site].calleeNumber;
    if (number == decision.number && sites_[site].isOpen) {
      changed |= std::exchange(choices_[site], decision.choice) != decision.choice;
    }
  }
  isCurrent_ = isCurrent_ && !changed;
  return changed;
}

std::vector<InlineDecision> InlineGame::decisions() const {
  std::vector<InlineDecision> decisions;
  for (size_t site = 0; site < sites_.size(); ++site) {
    if (choices_[site] != InlineChoice::kDefault) {
      decisions.push_back({InlineDecision::Target::kSite, site, choices_[site]});
    }
  }
  for (const InlineChoice answer : answers_) {
    decisions.push_back({InlineDecision::Target::kQuestion, 0, answer});
  }
  return decisions;
}

Status InlineGame::update() {
  if (isCurrent_) return Status::OK;
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program_->bitcode(), owned));
  features_.clear();
  const auto listener = [&](llvm::CallBase& call, llvm::FunctionAnalysisManager& analyses,
                            const InlineQuestion& /*question*/) {
    const size_t question = features_.size();
    const bool isNear =
        isInOrder_ && question >= answers_.size() && question < answers_.size() + kFeaturesAhead;
    features_.push_back(isNear ? inlineFeaturesOf(call, analyses) : std::vector<int64_t>());
  };
  questions_ = optimizeWithInlineDecisions(*owned.module, decisions(), listener);
  RETURN_IF_ERROR(verify(*owned.module));
  compilation_ = Compilation::startOn(program_, std::move(owned), workingDirectory_);
  isCurrent_ = true;
  ++version_;
  return Status::OK;
}

const InlineQuestion* InlineGame::openQuestion() const {
  const bool isOpen = isInOrder_ && answers_.size() < questions_.size();
  return isOpen ? &questions_[answers_.size()] : nullptr;
}

std::vector<int64_t> InlineGame::featuresOfQuestion() const {
  if (openQuestion() != nullptr) return features_[answers_.size()];
  return std::vector<int64_t>(namesOfInlineFeatures().size());
}

std::vector<InlineCounts> InlineGame::countsOf(const std::vector<InlineQuestion>& questions) const {
  std::vector<InlineCounts> counts(sites_.size());
  for (const InlineQuestion& question : questions) {
    if (question.site < 0) continue;
    InlineCounts& ofSite = counts[question.site];
    ++(question.inlined ? ofSite.inlined : ofSite.kept);
  }
  return counts;
}

Status InlineGame::featuresOfSites(std::vector<std::vector<int64_t>>& rows) const {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program_->bitcode(), owned));
  rows.assign(sites_.size(), {});
  const auto listener = [&](llvm::CallBase& call, llvm::FunctionAnalysisManager& analyses,
                            const InlineQuestion& question) {
    if (question.site >= 0 && rows[question.site].empty()) {
      rows[question.site] = inlineFeaturesOf(call, analyses);
    }
  };
  optimizeWithInlineDecisions(*owned.module, decisions(), listener);
  const size_t width = namesOfInlineFeatures().size();
  for (std::vector<int64_t>& row : rows) row.resize(width, 0);
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
