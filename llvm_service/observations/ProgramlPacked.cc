#include <algorithm>
#include <array>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using Node = ProgramGraph::Node;
using Edge = ProgramGraph::Edge;

// Consecutive rows of 32-bit integers, with an integer for each item.
class Rows {
 public:
  Rows(size_t rows, size_t items) : bytes_(rows * items * sizeof(int32_t), '\0') {}

  // Writes the next row.
  template <typename Items, typename GetInteger>
  void add(const Items& items, GetInteger get) {
    for (const auto& item : items) {
      llvm::support::endian::write32le(&bytes_[end_], static_cast<uint32_t>(get(item)));
      end_ += sizeof(int32_t);
    }
  }

  // Returns all rows. The object is empty afterwards.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  size_t end_ = 0;
};

void setNodes(const std::vector<Node>& nodes, Event& event) {
  Rows rows(4, nodes.size());
  rows.add(nodes, [](const Node& node) { return node.type; });
  rows.add(nodes, [](const Node& node) { return node.function; });
  rows.add(nodes, [](const Node& node) { return node.block; });
  rows.add(nodes, [](const Node& node) { return node.text; });
  setBytes(rows.take(), event);
}

void setEdges(const ProgramGraph& graph, Event& event) {
  Rows rows(5, graph.edges.size());
  rows.add(graph.edges, [](const Edge& edge) { return edge.source; });
  rows.add(graph.edges, [](const Edge& edge) { return edge.target; });
  rows.add(graph.edges, [](const Edge& edge) { return edge.flow; });
  rows.add(graph.edges, [](const Edge& edge) { return edge.position; });
  rows.add(graph.edgeKeys(), [](int64_t key) { return key; });
  setBytes(rows.take(), event);
}

// Joins the texts of the nodes by bytes of zero, which LLVM never prints.
std::string joinTexts(const std::vector<Node>& nodes) {
  return llvm::join(llvm::map_range(nodes, [](const Node& node) { return node.fullText; }),
                    llvm::StringRef("\0", 1));
}

void setPacked(const ProgramGraph& graph, Event& event) {
  auto& fields = *event.mutable_event_dict()->mutable_event();
  setNodes(graph.nodes, fields["nodes"]);
  setEdges(graph, fields["edges"]);
  fields["full_texts"].set_string_value(joinTexts(graph.nodes));
  addGraphTexts(graph, event);
}

ObservationSpace makeSpace() {
  ObservationSpace space =
      tableSpace("ProgramlPacked", {{"text", Column::kTexts}, {"function_name", Column::kTexts}});
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  for (const char* name : {"nodes", "edges"}) {
    fields[name] = bytesSpace(name).space();
  }
  for (const char* name : {"full_texts", "module_name", "target_triple", "data_layout"}) {
    fields[name] = textSpace(name).space();
  }
  space.clear_default_observation();
  setPacked({}, *space.mutable_default_observation());
  return space;
}

}  // namespace

/// ProgramlPacked: the graph of ProgramGraph.h in few fields, which are fast to send and read.
/// Python makes Programl and ProgramlJson from it. nodes and edges are rows of 32-bit integers,
/// little-endian: type, function, block and text of each node; source, target, flow, position and
/// key of each edge, see edgeKeys(). full_texts are those of the nodes, with a byte of zero between
/// them. Otherwise as ProgramlArrays.
Observations programlPacked() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    setPacked(makeProgramGraph(input.compilation.module()), event);
    return grpc::Status::OK;
  };
  return {{makeSpace(), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
