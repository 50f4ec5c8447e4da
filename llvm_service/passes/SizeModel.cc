#include "llvm_service/passes/SizeModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

namespace compiler_gym::llvm_service {

namespace json = llvm::json;

// LLVM finds these by the namespace of their types, so it has to be this one.
static bool fromJSON(const json::Value& value, Trees& trees, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("start", trees.start) && map.map("roots", trees.roots) &&
         map.map("features", trees.features) && map.map("numbers", trees.numbers) &&
         map.map("left", trees.left) && map.map("right", trees.right);
}

static bool fromJSON(const json::Value& value, Choices::Choice& choice, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("text", choice.text) && map.map("least", choice.least) &&
         fromJSON(value, choice.trees, path);
}

static bool fromJSON(const json::Value& value, Choices& choices, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("features", choices.features) && map.map("choices", choices.choices) &&
         map.mapOptional("most", choices.most) && map.mapOptional("enough", choices.enough);
}

static bool fromJSON(const json::Value& value, TargetModel& model, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("target", model.target) && map.map("about", model.about) &&
         map.map("start", model.start) && map.map("end", model.end) &&
         map.map("whole", model.whole) && map.map("calls", model.calls);
}

namespace {

// True if each number is that of a node or feature, and nodes come before those that follow them.
bool isSound(const Trees& trees, size_t features) {
  const size_t nodes = trees.numbers.size();
  if (trees.features.size() != nodes || trees.left.size() != nodes || trees.right.size() != nodes) {
    return false;
  }
  for (size_t node = 0; node < nodes; ++node) {
    const bool isLeaf = trees.left[node] == node;
    const bool isInner = trees.left[node] > node && trees.right[node] > node &&
                         trees.left[node] < nodes && trees.right[node] < nodes &&
                         trees.features[node] < features;
    if (!isLeaf && !isInner) return false;
  }
  return llvm::all_of(trees.roots, [&](size_t root) { return root < nodes; });
}

bool isSound(const Choices& choices) {
  return llvm::all_of(choices.choices, [&](const Choices::Choice& choice) {
    return isSound(choice.trees, choices.features.size());
  });
}

}  // namespace

double Trees::predict(const std::vector<double>& values) const {
  double sum = start;
  for (size_t node : roots) {
    while (left[node] != node) {
      node = values[features[node]] <= numbers[node] ? left[node] : right[node];
    }
    sum += numbers[node];
  }
  return sum;
}

std::vector<double> Choices::gains(const Features& known) const {
  std::vector<double> values;
  for (const std::string& name : features) values.push_back(known.lookup(name));
  std::vector<double> gains;
  for (const Choice& choice : choices) gains.push_back(choice.trees.predict(values));
  return gains;
}

std::vector<Choices::Decision> Choices::wanted(llvm::ArrayRef<double> gains) const {
  std::vector<Decision> found;
  for (const auto& [choice, gain] : llvm::zip_equal(choices, gains)) {
    if (gain > choice.least) found.push_back({gain, choice.text});
  }
  llvm::sort(found, [](const Decision& a, const Decision& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.text < b.text;
  });
  return found;
}

llvm::StringRef modelName(const llvm::Triple& target) {
  const llvm::StringRef name = target.getArchName();
  const bool isFirstThumb = name.starts_with("thumbv6") || name == "thumbv8m.base";
  return isFirstThumb ? "thumbv6m" : llvm::Triple::getArchTypeName(target.getArch());
}

llvm::Expected<TargetModel> readSizeModel(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) return value.takeError();
  json::Path::Root root("model");
  TargetModel model;
  if (!fromJSON(*value, model, root)) return root.getError();
  if (!isSound(model.start) || !isSound(model.end) || !isSound(model.whole) ||
      !isSound(model.calls)) {
    return llvm::createStringError("expected trees, got nodes that are none");
  }
  return model;
}

}  // namespace compiler_gym::llvm_service
