#include "llvm_service/passes/SizeDecisions.h"

#include <optional>
#include <string>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm_service/actions/OneRunModels.h"
#include "llvm_service/passes/CallSites.h"
#include "llvm_service/passes/FunctionSettings.h"
#include "llvm_service/passes/FunctionTraits.h"
#include "llvm_service/passes/Levels.h"
#include "llvm_service/passes/SizeFeatures.h"
#include "llvm_service/passes/SizeModel.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::CallBase;
using llvm::Function;
using llvm::FunctionAnalysisManager;
using llvm::Module;
using llvm::ModuleAnalysisManager;
using llvm::ModulePassManager;
using llvm::PreservedAnalyses;
using llvm::StringRef;

// clang accepts these if it has loaded the plugin with `-Xclang -load -Xclang FILE`, too.
llvm::cl::opt<std::string> modelFile(
    "oz-model", llvm::cl::desc("A file with a model that replaces those of compiler_gym-oz.so"));
llvm::cl::opt<bool> listFeatures(
    "oz-list", llvm::cl::desc("Print the features of functions and calls, and change nothing"));

constexpr StringRef kName = "compiler-gym-oz";

// Reads the model of a target. Its name is that of another one, or empty, if there is none for it.
llvm::Expected<TargetModel> readModel(StringRef target) {
  if (!modelFile.empty()) {
    auto file = llvm::MemoryBuffer::getFile(modelFile);
    if (!file) return llvm::createStringError(file.getError().message());
    return readSizeModel((*file)->getBuffer());
  }
  for (const auto& [name, text] : kOneRunModels) {
    if (target == name) return readSizeModel(text);
  }
  return TargetModel();
}

// Returns the model of a target; null if there is none. Warns if it cannot be read.
const TargetModel* modelFor(Module& module) {
  static llvm::StringMap<TargetModel> models;
  const StringRef name = modelName(llvm::Triple(module.getTargetTriple()));
  const auto [place, isNew] = models.try_emplace(name);
  TargetModel& model = place->second;
  if (isNew) {
    llvm::Expected<TargetModel> found = readModel(name);
    if (found) {
      model = std::move(*found);
    } else {
      const std::string why = llvm::toString(found.takeError());
      const std::string text = (kName + ": the model " + modelFile +
                                " cannot be used, so the code "
                                "is that of plain clang: " +
                                why)
                                   .str();
      module.getContext().diagnose(llvm::DiagnosticInfoGeneric(text, llvm::DS_Warning));
    }
  }
  return model.target == name ? &model : nullptr;
}

FunctionAnalysisManager& ofFunctions(Module& module, ModuleAnalysisManager& analyses) {
  return analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
}

void print(StringRef point, const Function& function, const Features& features) {
  llvm::json::Object numbers;
  for (const auto& feature : features) {
    if (feature.second != 0) numbers[feature.first()] = feature.second;
  }
  llvm::outs() << llvm::json::Value(
                      llvm::json::Object{{"point", point},
                                         {"function", llvm::json::fixUTF8(function.getName())},
                                         {"features", std::move(numbers)}})
               << "\n";
}

void remark(Function& function, StringRef text) {
  llvm::OptimizationRemark remark(kName.data(), "Decided", &function);
  remark << function.getName().str() << ": " << text.str();
  function.getContext().diagnose(remark);
}

// The functions of the module that may be adjusted, by name. Decisions are made before any pass
// runs and after most have run, when the traits of the source are no longer visible.
llvm::StringMap<FunctionTraits>& adjustableFunctions() {
  static llvm::StringMap<FunctionTraits> functions;
  return functions;
}

const FunctionTraits* traitsOf(const Function& function) {
  const auto found = adjustableFunctions().find(function.getName());
  return found == adjustableFunctions().end() ? nullptr : &found->second;
}

// A function that may be adjusted.
struct Known {
  Function* function;
  const FunctionTraits* traits;
  Features features;
};

std::vector<Known> knownFunctions(Module& module, FunctionAnalysisManager& analyses) {
  std::vector<Known> known;
  for (Function& function : module) {
    const FunctionTraits* const traits = traitsOf(function);
    if (function.isDeclaration() || traits == nullptr) continue;
    known.push_back({&function, traits, featuresOf(function, analyses)});
  }
  return known;
}

double instructionsOf(const Known& known) { return known.features.lookup("instructions"); }

double instructionsOf(llvm::ArrayRef<Known> known) {
  double sum = 0;
  for (const Known& each : known) sum += instructionsOf(each);
  return sum;
}

// Decisions, and the share of the module's code that they are expected to save.
struct Plan {
  std::vector<StringRef> options;
  std::vector<std::pair<const Known*, StringRef>> adjustments;
  double gain = 0;
};

// Plans options for all functions, unless one of them has to stay as it is.
void planWhole(Module& module, const Choices& choices, llvm::ArrayRef<Known> known, Plan& plan) {
  const bool isPermitted = llvm::all_of(module, [](const Function& function) {
    return function.isDeclaration() || traitsOf(function) != nullptr;
  });
  const double instructions = instructionsOf(known);
  if (!isPermitted || instructions == 0) return;
  std::vector<double> sums(choices.choices.size());
  for (const Known& each : known) {
    const double share = instructionsOf(each) / instructions;
    for (auto [sum, gain] : llvm::zip_equal(sums, choices.gains(each.features))) {
      sum += share * gain;
    }
  }
  for (const auto& [gain, text] : choices.wanted(sums)) {
    plan.options.push_back(text);
    plan.gain += gain;
  }
}

void planEach(const Choices& choices, llvm::ArrayRef<Known> known, Plan& plan) {
  const double instructions = instructionsOf(known);
  for (const Known& each : known) {
    if (choices.most != 0 && instructionsOf(each) > choices.most) continue;
    for (const auto& [gain, texts] : choices.wanted(choices.gains(each.features))) {
      plan.gain += gain * instructionsOf(each) / instructions;
      for (const StringRef text : llvm::split(texts, '+')) {
        if (each.traits->permits(text)) plan.adjustments.emplace_back(&each, text);
      }
    }
  }
}

void carryOut(const Plan& plan, Module& module) {
  for (const StringRef option : plan.options) {
    if (adjustAllFunctions(option)) remark(*module.begin(), option);
  }
  for (const auto& [known, text] : plan.adjustments) {
    if (adjustFunction(*known->function, text)) remark(*known->function, text);
  }
}

// Returns the decision about the calls of a function; nothing to leave it to LLVM. A function that
// other object files share is never inlined for its size, since they may still have its code.
std::optional<bool> decisionAbout(Function& callee, const Choices& choices,
                                  const Features& features) {
  for (const auto& [gain, text] : choices.wanted(choices.gains(features))) {
    if (text != "inline" || callee.hasLocalLinkage()) return text == "inline";
  }
  return std::nullopt;
}

struct DecideAtStart : llvm::PassInfoMixin<DecideAtStart> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    // A process of clang may compile several sources.
    clearFunctionSettings();
    adjustableFunctions().clear();
    const TargetModel* const model = listFeatures ? nullptr : modelFor(module);
    const bool isDirected = module.getContext().getOptPassGate().isEnabled();
    if ((model == nullptr && !listFeatures) || isDirected) return PreservedAnalyses::all();
    FunctionAnalysisManager& functions = ofFunctions(module, analyses);
    const ModuleTraits traits(module);
    decideCalls(module, traits, functions, model);
    for (Function& function : module) {
      if (function.isDeclaration() || !function.hasMinSize() || function.hasOptNone() ||
          traits.of(function).isExcluded()) {
        continue;
      }
      adjustableFunctions()[function.getName()] = traits.of(function);
    }
    const std::vector<Known> known = knownFunctions(module, functions);
    if (listFeatures) {
      for (const Known& each : known) print("start", *each.function, each.features);
    } else {
      Plan plan;
      planEach(model->start, known, plan);
      if (plan.gain >= model->start.enough) carryOut(plan, module);
    }
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

 private:
  static void decideCalls(Module& module, const ModuleTraits& traits,
                          FunctionAnalysisManager& analyses, const TargetModel* model) {
    for (auto& [callee, calls] : decidableCalls(module, traits, analyses)) {
      const Features features = featuresOfCalls(*callee, calls, analyses);
      if (listFeatures) {
        print("calls", *callee, features);
        continue;
      }
      const std::optional<bool> inlined = decisionAbout(*callee, model->calls, features);
      if (!inlined) continue;
      for (CallBase* call : calls) decideCall(*call, *inlined);
      remark(*callee, *inlined ? "inline all calls" : "inline no call");
    }
  }
};

struct DecideAtEnd : llvm::PassInfoMixin<DecideAtEnd> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    const TargetModel* const model = listFeatures ? nullptr : modelFor(module);
    FunctionAnalysisManager& functions = ofFunctions(module, analyses);
    if (adjustableFunctions().empty()) return PreservedAnalyses::all();
    const std::vector<Known> known = knownFunctions(module, functions);
    if (listFeatures) {
      for (const Known& each : known) print("end", *each.function, each.features);
    } else {
      Plan plan;
      planWhole(module, model->whole, known, plan);
      planEach(model->end, known, plan);
      if (plan.gain >= model->end.enough) carryOut(plan, module);
    }
    return PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }
};

bool isSmallest(llvm::OptimizationLevel level) { return level == levelOf("Oz")->pipeline; }

}  // namespace

void registerSizeDecisions(llvm::PassBuilder& passBuilder) {
  askBeforePasses(passBuilder);
  passBuilder.registerPipelineStartEPCallback(
      [](ModulePassManager& manager, llvm::OptimizationLevel level) {
        if (isSmallest(level)) manager.addPass(DecideAtStart());
      });
  passBuilder.registerOptimizerLastEPCallback([](ModulePassManager& manager,
                                                 llvm::OptimizationLevel level,
                                                 llvm::ThinOrFullLTOPhase phase) {
    const bool isLast = phase == llvm::ThinOrFullLTOPhase::None;
    if (isSmallest(level) && isLast) manager.addPass(DecideAtEnd());
  });
}

}  // namespace compiler_gym::llvm_service
