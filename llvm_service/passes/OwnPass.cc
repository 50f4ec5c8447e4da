#include "llvm_service/passes/OwnPass.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Passes/PassBuilder.h"

namespace compiler_gym::llvm_service {

#define OWN_PASS(pass) OwnPass pass();
#include "llvm_service/passes/OwnPasses.def"
#undef OWN_PASS

std::vector<OwnPass> listOwnPasses() {
  return {
#define OWN_PASS(pass) pass(),
#include "llvm_service/passes/OwnPasses.def"
#undef OWN_PASS
  };
}

void registerOwnPasses(llvm::PassBuilder& passBuilder) {
  for (const OwnPass& pass : listOwnPasses()) {
    pass.registerWith(passBuilder);
  }
}

std::vector<std::string> OwnPass::pipelines() const {
  if (parameters.empty()) {
    return {withAdaptors(level, name)};
  }
  std::vector<std::string> texts;
  for (const std::string& parameter : parameters) {
    texts.push_back(withAdaptors(level, name + "<" + parameter + ">"));
  }
  return texts;
}

template <typename Manager>
OwnPass::Register byName(const std::string& name, std::function<void(Manager&)> add) {
  return [name, add = std::move(add)](llvm::PassBuilder& passBuilder) {
    passBuilder.registerPipelineParsingCallback(
        [name, add](llvm::StringRef text, Manager& manager,
                    llvm::ArrayRef<llvm::PassBuilder::PipelineElement> nested) {
          if (text != name || !nested.empty()) {
            return false;
          }
          add(manager);
          return true;
        });
  };
}

template OwnPass::Register byName(const std::string&,
                                  std::function<void(llvm::ModulePassManager&)>);
template OwnPass::Register byName(const std::string&,
                                  std::function<void(llvm::FunctionPassManager&)>);
template OwnPass::Register byName(const std::string&, std::function<void(LoopPassManager&)>);

OwnPass::Register byParameter(const std::string& name, AddModulePass add) {
  return [name, add = std::move(add)](llvm::PassBuilder& passBuilder) {
    passBuilder.registerPipelineParsingCallback(
        [name, add, &passBuilder](llvm::StringRef text, llvm::ModulePassManager& manager,
                                  llvm::ArrayRef<llvm::PassBuilder::PipelineElement> nested) {
          const bool isMeant = text.consume_front(name) && text.consume_front("<") &&
                               text.consume_back(">") && nested.empty();
          return isMeant && add(passBuilder, text, manager);
        });
  };
}

std::vector<NumberedSetting> parseSettings(llvm::StringRef parameter) {
  std::vector<NumberedSetting> settings;
  for (const llvm::StringRef group : llvm::split(parameter, ';')) {
    const auto [numbers, texts] = group.split('=');
    for (const llvm::StringRef number : llvm::split(numbers, ':')) {
      std::optional<size_t> index;
      if (number != "*" && number.getAsInteger(10, index.emplace())) {
        return {};
      }
      for (const llvm::StringRef text : llvm::split(texts, '+')) {
        if (text.empty()) {
          return {};
        }
        settings.push_back({index, text});
      }
    }
  }
  return settings;
}

}  // namespace compiler_gym::llvm_service
