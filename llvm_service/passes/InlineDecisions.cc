#include "llvm_service/passes/InlineDecisions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/InlineAdvisor.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm_service/passes/CallSites.h"
#include "llvm_service/passes/ClangPipeline.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::CallBase;
using llvm::Function;
using llvm::FunctionAnalysisManager;
using llvm::Module;
using llvm::StringRef;

// The metadata that identifies calls and their copies. LLVM uses this kind for global variables
// only. A new kind would appear in the module's bitcode.
constexpr unsigned kNumberKind = llvm::LLVMContext::MD_exclude;

void setNumber(CallBase& call, size_t number) {
  llvm::LLVMContext& context = call.getContext();
  auto* constant = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), number);
  call.setMetadata(kNumberKind,
                   llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(constant)));
}

int64_t numberOf(const CallBase& call) {
  const llvm::MDNode* node = call.getMetadata(kNumberKind);
  if (node == nullptr) return -1;
  return llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getSExtValue();
}

struct EraseNumbers : llvm::PassInfoMixin<EraseNumbers> {
  llvm::PreservedAnalyses run(Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
    for (Function& function : module) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        if (llvm::isa<CallBase>(instruction)) instruction.setMetadata(kNumberKind, nullptr);
      }
    }
    return llvm::PreservedAnalyses::all();
  }
};

// The decisions and the questions in one run of the pipeline.
class Inlining {
 public:
  Inlining(Module& module, llvm::ArrayRef<InlineDecision> decisions, const InlineListener& listener)
      : listener_(listener) {
    const auto calls = callSites(module);
    const std::vector<size_t> callees = calleeNumbers(calls);
    for (auto [number, call] : llvm::enumerate(calls)) setNumber(*call, number);
    for (const InlineDecision& decision : decisions) add(decision, callees);
  }

  /// Decides whether to inline a call, given the result of LLVM's cost model.
  bool decide(CallBase& call, FunctionAnalysisManager& analyses, bool byDefault) {
    const InlineChoice choice = choiceAbout(call);
    const bool isDecided = choice != InlineChoice::kDefault;
    const bool inlined = isDecided ? choice == InlineChoice::kInline : byDefault;
    questions.push_back({numberOf(call), call.getFunction()->getName().str(),
                         call.getCalledFunction()->getName().str(), byDefault, inlined, isDecided});
    if (listener_) listener_(call, analyses, questions.back());
    return inlined;
  }

  std::vector<InlineQuestion> questions;

 private:
  void add(const InlineDecision& decision, llvm::ArrayRef<size_t> callees) {
    switch (decision.target) {
      case InlineDecision::Target::kQuestion:
        answers_.push_back(decision.choice);
        break;
      case InlineDecision::Target::kSite:
        sites_[static_cast<int64_t>(decision.number)] = decision.choice;
        break;
      case InlineDecision::Target::kCallee:
        for (auto [site, callee] : llvm::enumerate(callees)) {
          if (callee == decision.number) sites_[static_cast<int64_t>(site)] = decision.choice;
        }
        break;
    }
  }

  InlineChoice choiceAbout(const CallBase& call) {
    const auto found = sites_.find(numberOf(call));
    if (found != sites_.end() && found->second != InlineChoice::kDefault) return found->second;
    return answered_ < answers_.size() ? answers_[answered_++] : InlineChoice::kDefault;
  }

  const InlineListener& listener_;
  llvm::DenseMap<int64_t, InlineChoice> sites_;
  std::vector<InlineChoice> answers_;
  size_t answered_ = 0;
};

class DecidingAdvisor final : public llvm::InlineAdvisor {
 public:
  DecidingAdvisor(Module& module, FunctionAnalysisManager& analyses, llvm::InlineParams parameters,
                  llvm::InlineContext context, Inlining& inlining)
      : InlineAdvisor(module, analyses, context),
        default_(module, analyses, parameters, context),
        inlining_(inlining) {}

 private:
  std::unique_ptr<llvm::InlineAdvice> getAdviceImpl(CallBase& call) override {
    std::unique_ptr<llvm::InlineAdvice> advice = default_.getAdvice(call);
    if (!advice || !canBeInlined(call)) return advice;
    const bool byDefault = advice->isInliningRecommended();
    const bool wanted = inlining_.decide(call, FAM, byDefault);
    if (wanted == byDefault) return advice;
    advice->recordUnattemptedInlining();
    return std::make_unique<llvm::InlineAdvice>(this, call, getCallerORE(call), wanted);
  }

  bool canBeInlined(CallBase& call) {
    Function& caller = *call.getFunction();
    Function& callee = *call.getCalledFunction();
    const auto libraryOf = [this](Function& function) -> const llvm::TargetLibraryInfo& {
      return FAM.getResult<llvm::TargetLibraryAnalysis>(function);
    };
    auto& target = FAM.getResult<llvm::TargetIRAnalysis>(callee);
    return &caller != &callee &&
           !llvm::getAttributeBasedInliningDecision(call, &callee, target, libraryOf) &&
           llvm::isInlineViable(callee).isSuccess() &&
           caller.getInstructionCount() + callee.getInstructionCount() <= kMaxInlinedInstructions;
  }

  llvm::DefaultInlineAdvisor default_;
  Inlining& inlining_;
};

// Global, because LLVM takes a plain function to create advisors.
Inlining*& currentInlining() {
  thread_local Inlining* inlining = nullptr;
  return inlining;
}

llvm::InlineAdvisor* makeAdvisor(Module& module, FunctionAnalysisManager& analyses,
                                 llvm::InlineParams parameters, llvm::InlineContext context) {
  return new DecidingAdvisor(module, analyses, parameters, context, *currentInlining());
}

std::optional<InlineChoice> parseChoice(StringRef text) {
  if (text == "keep") return InlineChoice::kKeep;
  if (text == "inline") return InlineChoice::kInline;
  if (text == "default") return InlineChoice::kDefault;
  return std::nullopt;
}

std::string textOf(InlineChoice choice) {
  switch (choice) {
    case InlineChoice::kKeep:
      return "keep";
    case InlineChoice::kInline:
      return "inline";
    case InlineChoice::kDefault:
      break;
  }
  return "default";
}

struct InlineDecisions : llvm::PassInfoMixin<InlineDecisions> {
  std::vector<InlineDecision> decisions;

  llvm::PreservedAnalyses run(Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
    optimizeWithInlineDecisions(module, decisions);
    return llvm::PreservedAnalyses::none();
  }
};

bool addInlineDecisions(llvm::PassBuilder& /*passBuilder*/, StringRef parameter,
                        llvm::ModulePassManager& manager) {
  InlineDecisions pass;
  llvm::SmallVector<StringRef> texts;
  parameter.split(texts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef text : texts) {
    const std::optional<InlineDecision> decision = InlineDecision::parse(text);
    if (!decision) return false;
    pass.decisions.push_back(*decision);
  }
  manager.addPass(std::move(pass));
  return true;
}

}  // namespace

std::string InlineDecision::text() const {
  switch (target) {
    case Target::kQuestion:
      break;
    case Target::kSite:
      return "site-" + std::to_string(number) + "-" + textOf(choice);
    case Target::kCallee:
      return "callee-" + std::to_string(number) + "-" + textOf(choice);
  }
  return textOf(choice);
}

std::optional<InlineDecision> InlineDecision::parse(StringRef text) {
  if (const auto choice = parseChoice(text)) return InlineDecision{Target::kQuestion, 0, *choice};
  const auto [target, rest] = text.split('-');
  const auto [digits, choiceText] = rest.split('-');
  const std::optional<InlineChoice> choice = parseChoice(choiceText);
  size_t number = 0;
  if (digits.getAsInteger(10, number) || !choice || (target != "site" && target != "callee")) {
    return std::nullopt;
  }
  return InlineDecision{target == "site" ? Target::kSite : Target::kCallee, number, *choice};
}

std::vector<size_t> calleeNumbers(llvm::ArrayRef<CallBase*> calls) {
  llvm::DenseMap<const Function*, size_t> known;
  std::vector<size_t> numbers;
  for (const CallBase* call : calls) {
    numbers.push_back(known.try_emplace(call->getCalledFunction(), known.size()).first->second);
  }
  return numbers;
}

std::vector<InlineQuestion> optimizeWithInlineDecisions(Module& module,
                                                        llvm::ArrayRef<InlineDecision> decisions,
                                                        const InlineListener& listener) {
  Inlining inlining(module, decisions, listener);
  currentInlining() = &inlining;
  optimizeAsClang(
      module, *levelOf("Oz"),
      [](llvm::PassBuilder& builder, llvm::ModuleAnalysisManager& analyses) {
        analyses.registerPass([] { return llvm::PluginInlineAdvisorAnalysis(makeAdvisor); });
        builder.registerOptimizerEarlyEPCallback(
            [](llvm::ModulePassManager& manager, auto&&...) { manager.addPass(EraseNumbers()); });
      });
  currentInlining() = nullptr;
#if LLVM_VERSION_MAJOR < 22
  // Otherwise LLVM looks for the advisor in pipelines that have none, and crashes.
  llvm::PluginInlineAdvisorAnalysis::HasBeenRegistered = false;
#endif
  return std::move(inlining.questions);
}

void registerInlineDecisions(llvm::PassBuilder& passBuilder) {
  byParameter("inline-decisions", addInlineDecisions)(passBuilder);
}

}  // namespace compiler_gym::llvm_service
