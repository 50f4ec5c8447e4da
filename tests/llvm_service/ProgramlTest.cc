// The observations that are made of the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::ElementsAreArray;

TEST(ProgramlTest, JsonIsThatOfTheGraph) {
  const auto compilation = startCompilation(makeBenchmark(kernel("sha256")));
  ASSERT_NE(compilation, nullptr);
  const ProgramGraph graph = makeProgramGraph(compilation->module());
  for (const char* name : {"Programl", "ProgramlJson"}) {
    Opaque opaque;
    const Event event = observe(*compilation, name);
    ASSERT_TRUE(event.any_value().UnpackTo(&opaque));
    EXPECT_EQ(opaque.format(),
              name == std::string("Programl") ? "json://networkx/MultiDiGraph" : "json://");
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(opaque.data());
    ASSERT_TRUE(static_cast<bool>(json));
    const llvm::json::Object& document = *json->getAsObject();
    EXPECT_EQ(document.getArray("nodes")->size(), graph.nodes.size());
    EXPECT_EQ(document.getArray("links")->size(), graph.edges.size());
    const llvm::json::Object& node = *document.getArray("nodes")->back().getAsObject();
    EXPECT_EQ(node.getInteger("id"), static_cast<int64_t>(graph.nodes.size()) - 1);
    EXPECT_EQ(node.getInteger("type"), 2);
    EXPECT_EQ(node.getObject("features")->getArray("full_text")->front().getAsString(),
              graph.nodes.back().fullText);
    EXPECT_EQ(document.getObject("graph")->getArray("function")->size(), graph.functions.size());
  }
}

TEST(ProgramlTest, ArraysAreThoseOfTheGraph) {
  const auto compilation = startCompilation(makeBenchmark(kernel("sha256")));
  ASSERT_NE(compilation, nullptr);
  const ProgramGraph graph = makeProgramGraph(compilation->module());
  const Event event = observe(*compilation, "ProgramlArrays");
  const auto& fields = event.event_dict().event();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const ProgramGraph::Node& node = graph.nodes[i];
    EXPECT_EQ(fields.at("node_type").int64_tensor().value(i), static_cast<int64_t>(node.type));
    EXPECT_EQ(fields.at("node_function").int64_tensor().value(i), node.function);
    EXPECT_EQ(fields.at("node_block").int64_tensor().value(i), node.block);
    EXPECT_EQ(fields.at("node_text").int64_tensor().value(i), node.text);
    EXPECT_EQ(fields.at("node_full_text").string_tensor().value(i), node.fullText.str());
  }
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    const ProgramGraph::Edge& edge = graph.edges[i];
    EXPECT_EQ(fields.at("edge_source").int64_tensor().value(i), edge.source);
    EXPECT_EQ(fields.at("edge_target").int64_tensor().value(i), edge.target);
    EXPECT_EQ(fields.at("edge_flow").int64_tensor().value(i), static_cast<int64_t>(edge.flow));
    EXPECT_EQ(fields.at("edge_position").int64_tensor().value(i), edge.position);
  }
  const auto& functions = fields.at("function_name").string_tensor().value();
  EXPECT_THAT(std::vector<std::string>(functions.begin(), functions.end()),
              ElementsAreArray(graph.functions));
  EXPECT_EQ(fields.at("target_triple").string_value(), "x86_64-pc-linux-gnu");
}

std::vector<std::vector<int64_t>> rowsOf(const Event& event, size_t count) {
  const std::string& bytes = event.byte_tensor().value();
  EXPECT_EQ(event.byte_tensor().shape(0), bytes.size());
  std::vector<std::vector<int64_t>> rows(count);
  const size_t length = bytes.size() / count / 4;
  for (size_t i = 0; i < count * length; ++i) {
    rows[i / length].push_back(
        static_cast<int32_t>(llvm::support::endian::read32le(&bytes[4 * i])));
  }
  return rows;
}

TEST(ProgramlTest, PackedIsThatOfTheGraph) {
  const auto compilation = startCompilation(makeBenchmark(kernel("sha256")));
  ASSERT_NE(compilation, nullptr);
  const ProgramGraph graph = makeProgramGraph(compilation->module());
  const Event event = observe(*compilation, "ProgramlPacked");
  const auto& fields = event.event_dict().event();
  std::vector<std::vector<int64_t>> nodes(4);
  llvm::SmallVector<llvm::StringRef> fullTexts;
  llvm::StringRef(fields.at("full_texts").string_value()).split(fullTexts, '\0');
  ASSERT_EQ(fullTexts.size(), graph.nodes.size());
  for (const ProgramGraph::Node& node : graph.nodes) {
    EXPECT_EQ(fullTexts[nodes[0].size()], node.fullText);
    nodes[0].push_back(static_cast<int64_t>(node.type));
    nodes[1].push_back(node.function);
    nodes[2].push_back(node.block);
    nodes[3].push_back(node.text);
  }
  std::vector<std::vector<int64_t>> edges(4);
  for (const ProgramGraph::Edge& edge : graph.edges) {
    edges[0].push_back(edge.source);
    edges[1].push_back(edge.target);
    edges[2].push_back(static_cast<int64_t>(edge.flow));
    edges[3].push_back(edge.position);
  }
  edges.push_back(graph.edgeKeys());
  EXPECT_EQ(rowsOf(fields.at("nodes"), 4), nodes);
  EXPECT_EQ(rowsOf(fields.at("edges"), 5), edges);
  EXPECT_THAT(fields.at("text").string_tensor().value(), ElementsAreArray(graph.texts));
  EXPECT_THAT(fields.at("function_name").string_tensor().value(),
              ElementsAreArray(graph.functions));
  EXPECT_EQ(fields.at("data_layout").string_value(), graph.dataLayout);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
