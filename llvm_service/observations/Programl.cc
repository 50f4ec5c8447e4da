#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::json::OStream;

// The formats of Opaque that Python knows.
constexpr char kGraphFormat[] = "json://networkx/MultiDiGraph";
constexpr char kJsonFormat[] = "json://";

void writeAttributes(const ProgramGraph& graph, OStream& json) {
  json.attributeArray("function", [&] {
    for (const std::string& name : graph.functions) {
      json.object([&] {
        json.attribute("module", 0);
        json.attribute("name", llvm::json::fixUTF8(name));
      });
    }
  });
  json.attributeArray("module", [&] {
    json.object([&] {
      json.attribute("llvm_data_layout", llvm::json::fixUTF8(graph.dataLayout));
      json.attribute("llvm_target_triple", llvm::json::fixUTF8(graph.targetTriple));
      json.attribute("name", llvm::json::fixUTF8(graph.moduleName));
    });
  });
}

void writeNode(const ProgramGraph& graph, size_t index, OStream& json) {
  const ProgramGraph::Node& node = graph.nodes[index];
  json.object([&] {
    json.attribute("block", node.block);
    if (!node.fullText.empty()) {
      json.attributeObject("features", [&] {
        json.attributeArray("full_text", [&] { json.value(node.fullText); });
      });
    }
    json.attribute("function", node.function);
    json.attribute("id", static_cast<int64_t>(index));
    json.attribute("text", graph.texts[node.text]);
    json.attribute("type", static_cast<int64_t>(node.type));
  });
}

void writeEdge(const ProgramGraph::Edge& edge, int64_t key, OStream& json) {
  json.object([&] {
    json.attribute("flow", static_cast<int64_t>(edge.flow));
    json.attribute("key", key);
    json.attribute("position", edge.position);
    json.attribute("source", edge.source);
    json.attribute("target", edge.target);
  });
}

// Node-link data, as networkx writes it.
void writeGraph(const ProgramGraph& graph, OStream& json) {
  json.object([&] {
    json.attribute("directed", true);
    json.attributeObject("graph", [&] { writeAttributes(graph, json); });
    json.attributeArray("links", [&] {
      const std::vector<int64_t> keys = graph.edgeKeys();
      for (size_t i = 0; i < keys.size(); ++i) {
        writeEdge(graph.edges[i], keys[i], json);
      }
    });
    json.attribute("multigraph", true);
    json.attributeArray("nodes", [&] {
      for (size_t i = 0; i < graph.nodes.size(); ++i) {
        writeNode(graph, i, json);
      }
    });
  });
}

std::string toJson(const ProgramGraph& graph) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  writeGraph(graph, json);
  return text;
}

void setOpaque(const char* format, std::string data, Event& event) {
  Opaque opaque;
  opaque.set_format(format);
  opaque.set_data(std::move(data));
  event.mutable_any_value()->PackFrom(opaque);
}

Observation makeObservation(const char* name, const char* format) {
  const auto compute = [format](const ObservationInput& input, Event& event) {
    setOpaque(format, toJson(makeProgramGraph(input.compilation.module())), event);
    return grpc::Status::OK;
  };
  Observation result{textSpace(name), compute, /*exports=*/true};
  setOpaque(format, R"({"directed":true,"graph":{},"links":[],"multigraph":true,"nodes":[]})",
            *result.space.mutable_default_observation());
  return result;
}

}  // namespace

/// Programl and ProgramlJson: the graph of ProgramGraph.h as node-link JSON, in an Opaque. The
/// declared space describes that text, because existing clients rely on it. Nodes have the
/// attributes block, function, text, type (0 instruction, 1 variable, 2 constant) and, but for node
/// 0, features.full_text; edges have flow (0 control, 1 data, 2 call) and position.
Observations programl() {
  return {makeObservation("Programl", kGraphFormat), makeObservation("ProgramlJson", kJsonFormat)};
}

}  // namespace compiler_gym::llvm_service
