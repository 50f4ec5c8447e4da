#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using Node = ProgramGraph::Node;
using Edge = ProgramGraph::Edge;
using Fields = google::protobuf::Map<std::string, Event>;
using SpaceFields = google::protobuf::Map<std::string, Space>;

// The greatest values of enumerations.
constexpr int64_t kLastNodeType = static_cast<int64_t>(ProgramGraph::NodeType::kConstant);
constexpr int64_t kLastFlow = static_cast<int64_t>(ProgramGraph::Flow::kCall);

// Adds a vector with one integer for each item.
template <typename Item, typename GetInteger>
void addIntegers(const char* name, const std::vector<Item>& items, GetInteger get, Fields& fields) {
  Int64Tensor* tensor = fields[name].mutable_int64_tensor();
  tensor->add_shape(items.size());
  tensor->mutable_value()->Reserve(static_cast<int>(items.size()));
  for (const Item& item : items) {
    tensor->add_value(static_cast<int64_t>(get(item)));
  }
}

void addFullTexts(const std::vector<Node>& nodes, Event& field) {
  StringTensor* tensor = field.mutable_string_tensor();
  tensor->add_shape(nodes.size());
  tensor->mutable_value()->Reserve(static_cast<int>(nodes.size()));
  for (const Node& node : nodes) {
    tensor->add_value(node.fullText.data(), node.fullText.size());
  }
}

void setArrays(const ProgramGraph& graph, Event& event) {
  Fields& fields = *event.mutable_event_dict()->mutable_event();
  addIntegers("node_type", graph.nodes, [](const Node& node) { return node.type; }, fields);
  addIntegers("node_function", graph.nodes, [](const Node& node) { return node.function; }, fields);
  addIntegers("node_block", graph.nodes, [](const Node& node) { return node.block; }, fields);
  addIntegers("node_text", graph.nodes, [](const Node& node) { return node.text; }, fields);
  addFullTexts(graph.nodes, fields["node_full_text"]);
  addIntegers("edge_source", graph.edges, [](const Edge& edge) { return edge.source; }, fields);
  addIntegers("edge_target", graph.edges, [](const Edge& edge) { return edge.target; }, fields);
  addIntegers("edge_flow", graph.edges, [](const Edge& edge) { return edge.flow; }, fields);
  addIntegers("edge_position", graph.edges, [](const Edge& edge) { return edge.position; }, fields);
  addGraphTexts(graph, event);
}

void addIntegersSpace(const char* name, std::optional<int64_t> max, SpaceFields& fields) {
  Int64SequenceSpace* sequence = fields[name].mutable_int64_sequence();
  sequence->mutable_length_range()->set_min(0);
  sequence->mutable_scalar_range()->set_min(0);
  if (max) {
    sequence->mutable_scalar_range()->set_max(*max);
  }
}

ObservationSpace makeSpace() {
  ObservationSpace space;
  space.set_name("ProgramlArrays");
  space.set_deterministic(true);
  SpaceFields& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  for (const char* name : {"node_function", "node_block", "node_text", "edge_source", "edge_target",
                           "edge_position"}) {
    addIntegersSpace(name, std::nullopt, fields);
  }
  addIntegersSpace("node_type", kLastNodeType, fields);
  addIntegersSpace("edge_flow", kLastFlow, fields);
  for (const char* name : {"node_full_text", "text", "function_name"}) {
    fields[name].mutable_string_sequence()->mutable_length_range()->set_min(0);
  }
  for (const char* name : {"module_name", "target_triple", "data_layout"}) {
    fields[name].mutable_string_value()->mutable_length_range()->set_min(0);
  }
  setArrays({}, *space.mutable_default_observation());
  return space;
}

}  // namespace

/// ProgramlArrays: the graph of ProgramGraph.h as arrays, which are faster to send and read than
/// JSON, and are the input of graph neural networks. node_*: one element for each node; node_text
/// is an index in text. edge_*: one element for each edge. Types of nodes and flows are as in
/// Programl.
Observations programlArrays() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    setArrays(makeProgramGraph(input.compilation.module()), event);
    return grpc::Status::OK;
  };
  return {{makeSpace(), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
