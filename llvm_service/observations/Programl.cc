#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using llvm::json::OStream;
using Node = ProgramGraph::Node;
using Edge = ProgramGraph::Edge;

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
  const Node& node = graph.nodes[index];
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

void writeEdge(const Edge& edge, int64_t key, OStream& json) {
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

// Calls `visit` with the name and the getter of each integer of nodes, or of edges.
template <typename Visit>
void visitNodeColumns(Visit visit) {
  visit("node_type", [](const Node& node) { return node.type; });
  visit("node_function", [](const Node& node) { return node.function; });
  visit("node_block", [](const Node& node) { return node.block; });
  visit("node_text", [](const Node& node) { return node.text; });
}

template <typename Visit>
void visitEdgeColumns(Visit visit) {
  visit("edge_source", [](const Edge& edge) { return edge.source; });
  visit("edge_target", [](const Edge& edge) { return edge.target; });
  visit("edge_flow", [](const Edge& edge) { return edge.flow; });
  visit("edge_position", [](const Edge& edge) { return edge.position; });
}

// Adds the texts that do not belong to single nodes, and the properties of the module.
void addGraphTexts(const ProgramGraph& graph, Event& event) {
  addTexts(event, "text", graph.texts);
  addTexts(event, "function_name", graph.functions);
  auto& fields = *event.mutable_event_dict()->mutable_event();
  fields["module_name"].set_string_value(graph.moduleName);
  fields["target_triple"].set_string_value(graph.targetTriple);
  fields["data_layout"].set_string_value(graph.dataLayout);
}

// The space of a dictionary that has what addGraphTexts() adds.
ObservationSpace dictionarySpace(const char* name) {
  ObservationSpace space =
      tableSpace(name, {{"text", Column::kTexts}, {"function_name", Column::kTexts}});
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  for (const char* text : {"module_name", "target_triple", "data_layout"}) {
    fields[text] = textSpace(text).space();
  }
  return space;
}

void setArrays(const ProgramGraph& graph, Event& event) {
  visitNodeColumns([&](const char* name, auto get) { addColumn(event, name, graph.nodes, get); });
  visitEdgeColumns([&](const char* name, auto get) { addColumn(event, name, graph.edges, get); });
  addGraphTexts(graph, event);
  StringTensor& texts =
      *(*event.mutable_event_dict()->mutable_event())["node_full_text"].mutable_string_tensor();
  texts.add_shape(graph.nodes.size());
  texts.mutable_value()->Reserve(static_cast<int>(graph.nodes.size()));
  for (const Node& node : graph.nodes) texts.add_value(node.fullText.data(), node.fullText.size());
}

ObservationSpace arraysSpace() {
  ObservationSpace space = dictionarySpace("ProgramlArrays");
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  const auto addSpace = [&](const char* name, auto /*get*/) {
    Int64SequenceSpace* sequence = fields[name].mutable_int64_sequence();
    sequence->mutable_length_range()->set_min(0);
    sequence->mutable_scalar_range()->set_min(0);
  };
  visitNodeColumns(addSpace);
  visitEdgeColumns(addSpace);
  const auto setLast = [&](const char* name, auto last) {
    fields[name].mutable_int64_sequence()->mutable_scalar_range()->set_max(
        static_cast<int64_t>(last));
  };
  setLast("node_type", ProgramGraph::NodeType::kConstant);
  setLast("edge_flow", ProgramGraph::Flow::kCall);
  fields["node_full_text"].mutable_string_sequence()->mutable_length_range()->set_min(0);
  return space;
}

// Appends a row of 32-bit integers, with an integer for each item.
template <typename Items, typename GetInteger>
void appendRow(const Items& items, GetInteger get, std::string& rows) {
  size_t end = rows.size();
  rows.resize(end + items.size() * sizeof(int32_t));
  for (const auto& item : items) {
    llvm::support::endian::write32le(&rows[end], static_cast<uint32_t>(get(item)));
    end += sizeof(int32_t);
  }
}

void setPacked(const ProgramGraph& graph, Event& event) {
  std::string nodes;
  std::string edges;
  nodes.reserve(4 * sizeof(int32_t) * graph.nodes.size());
  edges.reserve(5 * sizeof(int32_t) * graph.edges.size());
  visitNodeColumns([&](const char* /*name*/, auto get) { appendRow(graph.nodes, get, nodes); });
  visitEdgeColumns([&](const char* /*name*/, auto get) { appendRow(graph.edges, get, edges); });
  appendRow(graph.edgeKeys(), [](int64_t key) { return key; }, edges);
  auto& fields = *event.mutable_event_dict()->mutable_event();
  setBytes(std::move(nodes), fields["nodes"]);
  setBytes(std::move(edges), fields["edges"]);
  // LLVM never prints the zeros between the texts.
  fields["full_texts"].set_string_value(
      llvm::join(llvm::map_range(graph.nodes, [](const Node& node) { return node.fullText; }),
                 llvm::StringRef("\0", 1)));
  addGraphTexts(graph, event);
}

ObservationSpace packedSpace() {
  ObservationSpace space = dictionarySpace("ProgramlPacked");
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  fields["nodes"] = fields["edges"] = bytesSpace("").space();
  fields["full_texts"] = textSpace("").space();
  return space;
}

// An observation of the graph in one of its forms, as `set` makes it.
template <typename Set>
Observation makeObservation(ObservationSpace space, Set set) {
  const auto compute = [set](const ObservationInput& input, Event& event) {
    set(makeProgramGraph(input.compilation.module()), event);
    return grpc::Status::OK;
  };
  return {std::move(space), compute, /*exports=*/true};
}

template <typename Set>
Observation dictionaryObservation(ObservationSpace space, Set set) {
  space.clear_default_observation();
  set({}, *space.mutable_default_observation());
  return makeObservation(std::move(space), set);
}

Observation jsonObservation(const char* name, const char* format) {
  ObservationSpace space = textSpace(name);
  setOpaque(format, R"({"directed":true,"graph":{},"links":[],"multigraph":true,"nodes":[]})",
            *space.mutable_default_observation());
  return makeObservation(std::move(space), [format](const ProgramGraph& graph, Event& event) {
    setOpaque(format, toJson(graph), event);
  });
}

}  // namespace

/// Programl and ProgramlJson: the graph of ProgramGraph.h as node-link JSON, in an Opaque. The
/// declared space describes that text, because existing clients rely on it. Nodes have the
/// attributes block, function, text, type (0 instruction, 1 variable, 2 constant) and, but for node
/// 0, features.full_text; edges have flow (0 control, 1 data, 2 call) and position.
Observations programl() {
  return {jsonObservation("Programl", kGraphFormat), jsonObservation("ProgramlJson", kJsonFormat)};
}

/// ProgramlArrays: the graph as arrays, which are faster to send and read than JSON, and are the
/// input of graph neural networks. node_*: one element for each node; node_text is an index in
/// text. edge_*: one element for each edge. Types of nodes and flows are as in Programl.
Observations programlArrays() { return {dictionaryObservation(arraysSpace(), setArrays)}; }

/// ProgramlPacked: the graph in few fields, which are fast to send and read. Python makes Programl
/// and ProgramlJson from it. nodes and edges are rows of 32-bit integers, little-endian: type,
/// function, block and text of each node; source, target, flow, position and key of each edge, see
/// edgeKeys(). full_texts are those of the nodes, with a byte of zero between them. Otherwise as
/// ProgramlArrays.
Observations programlPacked() { return {dictionaryObservation(packedSpace(), setPacked)}; }

}  // namespace compiler_gym::llvm_service
