#include "llvm_service/regalloc/RegallocGame.h"

#include <utility>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm_service/games/Games.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/regalloc/RegallocObservations.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr char kPrioritiesName[] = "Priorities";

ActionList listEvictions() {
  ActionList list{"Evictions", {}};
  const auto add = [&](const std::string& name, const std::string& description) {
    list.actions.push_back({name, name, description});
  };
  for (size_t i = 0; i < kEvictNothing; ++i) {
    const std::string number = std::to_string(i);
    add("candidate-" + number, "Evicts the live ranges in the register of candidate " + number);
  }
  add("none", "Evicts nothing, so that the new live range is split or spilled");
  add("default", "Leaves the decision to LLVM");
  return list;
}

// In the order of Priority.
ActionList listPriorities() {
  return {kPrioritiesName,
          {{"first", "first", "Assigns a register before all live ranges that wait"},
           {"last", "last", "Assigns a register after all live ranges that wait"},
           {"sooner", "sooner", "The priority of a live range of the same kind twice as long"},
           {"later", "later", "The priority of a live range of the same kind half as long"},
           {"default", "default", "Leaves the decision to LLVM"}}};
}

GameRules makeRules() {
  Observations observations = listRegallocObservations();
  llvm::append_range(observations, observationsOfProgram(observations));
  const auto start = [](std::shared_ptr<const Program> program, const ActionList& actions,
                        const boost::filesystem::path& workingDirectory,
                        std::unique_ptr<Game>& game) {
    std::unique_ptr<RegallocGame> started;
    const auto decision = actions.name == kPrioritiesName ? AllocatorDecision::kPriority
                                                          : AllocatorDecision::kEviction;
    RETURN_IF_ERROR(RegallocGame::start(std::move(program), decision, workingDirectory, started));
    game = std::move(started);
    return Status::OK;
  };
  return {{listEvictions(), listPriorities()}, std::move(observations), start};
}

// True if an observation describes the program after register allocation, rather than the IR before
// it.
bool isOfAssembly(const Observation& observation) {
  static const std::set<std::string> names = {"Bitcode",     "BitcodeFile",  "IrSha1",
                                              "IsBuildable", "IsRunnable",   "Runtime",
                                              "Buildtime",   "TextSizeBytes"};
  return names.count(observation.space.name()) > 0;
}

std::string describeLegal(const std::vector<bool>& mask) {
  std::string names;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) names += (i < kEvictNothing ? "candidate-" + std::to_string(i) : "none") + ", ";
  }
  return names + "default";
}

}  // namespace

const GameRules& regallocGame() {
  static const GameRules rules = makeRules();
  return rules;
}

Status RegallocGame::start(std::shared_ptr<const Program> program, AllocatorDecision decision,
                           const boost::filesystem::path& workingDirectory,
                           std::unique_ptr<RegallocGame>& game) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
  optimizeAsClang(*owned.module, *levelOf("Oz"));
  std::unique_ptr<RegallocGame> started(new RegallocGame(program, decision, workingDirectory));
  started->optimised_ =
      Compilation::startOn(std::move(program), std::move(owned), workingDirectory);
  RETURN_IF_ERROR(started->generate(llvm::CodeGenFileType::ObjectFile, started->allocation_));
  started->defaultSpills_ = started->allocation_.spills;
  started->allocations_ = 1;
  game = std::move(started);
  return Status::OK;
}

Status RegallocGame::restart(OwnedModule optimised) {
  auto former = std::exchange(
      optimised_, Compilation::startOn(program_, std::move(optimised), workingDirectory_));
  std::vector<int64_t> formerAnswers;
  answers_.swap(formerAnswers);
  PlayedAllocation allocation;
  const Status status = generate(llvm::CodeGenFileType::ObjectFile, allocation);
  if (!status.ok()) {
    optimised_ = std::move(former);
    answers_.swap(formerAnswers);
    return status;
  }
  allocation_ = std::move(allocation);
  ++version_;
  ++allocations_;
  return Status::OK;
}

Status RegallocGame::generate(llvm::CodeGenFileType type, PlayedAllocation& allocation) {
  return generateWithAnswers(optimised_->bitcode(), decision_, answers_, function_,
                             workingDirectory_, type, allocation);
}

const AllocatorQuestion* RegallocGame::openQuestion() const {
  const auto& questions = allocation_.questions;
  return answers_.size() < questions.size() ? &questions[answers_.size()] : nullptr;
}

Status RegallocGame::apply(size_t index, int /*actionsLeft*/, const LlvmSettings& /*settings*/,
                           Outcome& outcome) {
  const AllocatorQuestion* question = openQuestion();
  outcome.hadNoEffect = question == nullptr;
  if (question != nullptr) {
    const bool isDefault = index == question->mask.size();
    if (!isDefault && !question->mask[index]) {
      return {StatusCode::INVALID_ARGUMENT,
              "Candidate " + std::to_string(index) + " does not answer question " +
                  std::to_string(answers_.size()) + " about " + question->function +
                  ". Expected one of " + describeLegal(question->mask)};
    }
    RETURN_IF_ERROR(answer(isDefault ? kDefaultAnswer : static_cast<int64_t>(index)));
  }
  outcome.endsEpisode = openQuestion() == nullptr;
  return Status::OK;
}

Status RegallocGame::answer(int64_t answer) {
  AllocatorQuestion& question = allocation_.questions[answers_.size()];
  answers_.push_back(answer);
  // An answer that equals LLVM's own needs no new code.
  const bool isForeseen = chosenBy(decision_, answer, question.byDefault) == question.byDefault;
  const AllocatorQuestion* next = openQuestion();
  if (isForeseen && (next == nullptr || !next->features.empty())) {
    question.decided = answer != kDefaultAnswer;
    ++version_;
    return Status::OK;
  }
  PlayedAllocation allocation;
  const Status status = generate(llvm::CodeGenFileType::ObjectFile, allocation);
  if (!status.ok()) {
    answers_.pop_back();
    return status;
  }
  allocation_ = std::move(allocation);
  ++version_;
  if (!isForeseen) ++allocations_;
  return Status::OK;
}

Status RegallocGame::view(const Observation& observation, View& view) {
  const bool isAssembly = isOfAssembly(observation);
  if (isAssembly) RETURN_IF_ERROR(assemble());
  view = {isAssembly ? assembled_.get() : optimised_.get(), version_};
  return Status::OK;
}

void RegallocGame::visitCompilations(const Visitor& visitor) {
  visitor(*optimised_);
  if (assembled_) visitor(*assembled_);
}

Status RegallocGame::assemble() {
  if (assembled_ && assembledAllocation_ == allocations_) return Status::OK;
  PlayedAllocation allocation;
  RETURN_IF_ERROR(generate(llvm::CodeGenFileType::AssemblyFile, allocation));
  // The assembly in this program fixes its registers for any compiler.
  OwnedModule owned;
  owned.context = std::make_unique<Context>();
  owned.module = std::make_unique<llvm::Module>("-", owned.context->get());
  owned.module->setTargetTriple(optimised_->module().getTargetTriple());
  owned.module->setDataLayout(optimised_->module().getDataLayout());
  owned.module->setModuleInlineAsm(allocation.output);
  assembled_ = Compilation::startOn(program_, std::move(owned), workingDirectory_);
  assembledAllocation_ = allocations_;
  return Status::OK;
}

Status RegallocGame::setFunction(const std::string& name) {
  if (name == function_) return Status::OK;
  if (!answers_.empty()) {
    return {StatusCode::FAILED_PRECONDITION,
            "The function can be set before the first action of a session only"};
  }
  const llvm::Function* function = optimised_->module().getFunction(name);
  if (!name.empty() && (function == nullptr || function->isDeclaration())) {
    std::string known;
    for (const llvm::Function& each : optimised_->module()) {
      if (!each.isDeclaration()) known += (known.empty() ? "" : ", ") + each.getName().str();
    }
    return {StatusCode::INVALID_ARGUMENT,
            "Expected a function of the program after clang -Oz, got \"" + name + "\". There are " +
                known};
  }
  const std::string previous = std::exchange(function_, name);
  PlayedAllocation allocation;
  const Status status = generate(llvm::CodeGenFileType::ObjectFile, allocation);
  if (!status.ok()) {
    function_ = previous;
    return status;
  }
  allocation_ = std::move(allocation);
  ++version_;
  return Status::OK;
}

Status RegallocGame::handleParameter(const std::string& key, const std::string& value,
                                     const LlvmSettings& /*settings*/,
                                     std::optional<std::string>& reply) {
  if (key == "llvm.set_function") RETURN_IF_ERROR(setFunction(value));
  if (key == "llvm.set_function" || key == "llvm.get_function") reply = function_;
  return Status::OK;
}

}  // namespace compiler_gym::llvm_service
