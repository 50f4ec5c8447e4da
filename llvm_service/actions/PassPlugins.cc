#include "llvm_service/actions/PassPlugins.h"

#include <optional>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm_service/actions/PipelineParser.h"
#include "llvm_service/passes/PassLevel.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::StringRef;

constexpr char kPassesFunction[] = "compilerGymPasses";

struct NamedPass {
  std::string name;
  std::string description;
};

llvm::Error failure(StringRef path, const llvm::Twine& problem) {
  return llvm::createStringError(std::make_error_code(std::errc::invalid_argument),
                                 ("the pass plugin " + path + " " + problem).str());
}

// Splits names at commas, but not within brackets, which belong to a pipeline.
std::vector<std::string> splitNames(StringRef text) {
  std::vector<std::string> names;
  std::string name;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' || c == '<') - (c == ')' || c == '>');
    if (c == ',' && depth == 0) {
      names.push_back(std::exchange(name, {}));
    } else {
      name += c;
    }
  }
  names.push_back(name);
  llvm::erase_if(names, [](const std::string& each) { return StringRef(each).trim().empty(); });
  return names;
}

std::vector<NamedPass> namedByUser(StringRef names, StringRef path) {
  std::vector<NamedPass> passes;
  for (const std::string& name : splitNames(names)) {
    passes.push_back({StringRef(name).trim().str(), "A pass of the plugin " + path.str()});
  }
  return passes;
}

// Returns the passes that the library names, or nothing if it has no such function.
std::optional<std::vector<NamedPass>> namedByLibrary(const std::string& path) {
  auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str());
  auto* list = reinterpret_cast<const char* (*)()>(library.getAddressOfSymbol(kPassesFunction));
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<NamedPass> passes;
  for (StringRef line : llvm::split(list(), '\n')) {
    const auto [name, description] = line.split(": ");
    if (!name.trim().empty()) {
      passes.push_back({name.trim().str(), description.trim().str()});
      if (passes.back().description.empty()) {
        passes.back().description = "A pass of the plugin " + path;
      }
    }
  }
  return passes;
}

// Returns the name with the adaptors that LLVM accepts; nothing if LLVM accepts none.
std::optional<std::string> withFittingAdaptors(PipelineParser& parser, const std::string& name) {
  std::vector<std::string> candidates = {name};
  if (name.find('(') == std::string::npos) {
    // From the inside out: outer levels accept some passes of inner ones.
    candidates = {withAdaptors(PassLevel::kLoop, name), withAdaptors(PassLevel::kFunction, name),
                  withAdaptors(PassLevel::kCgscc, name), name};
  }
  for (const std::string& candidate : candidates) {
    if (parser.understands(candidate)) {
      return candidate;
    }
  }
  return std::nullopt;
}

struct Specification {
  std::string path;
  std::optional<std::string> names;
};

// Splits a file from its passes. A colon may also be part of the file's name.
Specification parseSpecification(StringRef text) {
  if (llvm::sys::fs::exists(text) || !text.contains(':')) {
    return {text.str(), std::nullopt};
  }
  const auto [path, names] = text.rsplit(':');
  return {path.str(), names.str()};
}

llvm::Expected<LoadedPlugin> loadPlugin(StringRef text, PipelineParser& parser) {
  const Specification specification = parseSpecification(text);
  const std::string& path = specification.path;
  if (!llvm::sys::fs::exists(path)) {
    return failure(path, "does not exist");
  }
  llvm::Expected<llvm::PassPlugin> plugin = llvm::PassPlugin::Load(path);
  if (!plugin) {
    return failure(path, "cannot be loaded by LLVM " LLVM_VERSION_STRING ": " +
                             llvm::toString(plugin.takeError()));
  }
  const std::optional<std::vector<NamedPass>> passes =
      specification.names ? namedByUser(*specification.names, path) : namedByLibrary(path);
  if (!passes) {
    return failure(path, llvm::Twine("does not tell its passes: name them, as in ") + path +
                             ":first,second, or define " + kPassesFunction + "() in it");
  }
  parser.load(*plugin);
  LoadedPlugin loaded{*plugin, {}};
  for (const NamedPass& pass : *passes) {
    const std::optional<std::string> pipeline = withFittingAdaptors(parser, pass.name);
    if (!pipeline) {
      return failure(path, "has no pass \"" + pass.name + "\" that LLVM can parse");
    }
    loaded.actions.push_back({*pipeline, *pipeline, pass.description});
  }
  return loaded;
}

}  // namespace

std::string LoadedPlugin::optOption() const {
  return "-load-pass-plugin=" + plugin.getFilename().str();
}

llvm::Expected<std::vector<LoadedPlugin>> loadPlugins(StringRef specifications) {
  PipelineParser parser;
  std::vector<LoadedPlugin> plugins;
  for (StringRef text : llvm::split(specifications, ';')) {
    if (text.trim().empty()) {
      continue;
    }
    llvm::Expected<LoadedPlugin> plugin = loadPlugin(text.trim(), parser);
    if (!plugin) {
      return plugin.takeError();
    }
    plugins.push_back(std::move(*plugin));
  }
  return plugins;
}

}  // namespace compiler_gym::llvm_service
