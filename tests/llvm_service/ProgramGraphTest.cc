// The graphs of small modules, drawn by hand, what holds for all graphs, and the observations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm_service/Ir.h"
#include "llvm_service/observations/ProgramGraph.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/RandomWalk.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Flow = ProgramGraph::Flow;
using NodeType = ProgramGraph::NodeType;

ProgramGraph graphOf(const std::string& ir) {
  OwnedModule owned;
  EXPECT_THAT(parseIr(ir, owned), IsOk());
  return owned.module ? makeProgramGraph(*owned.module) : ProgramGraph();
}

std::string kindOf(NodeType type) {
  switch (type) {
    case NodeType::kInstruction:
      return "instruction";
    case NodeType::kVariable:
      return "variable";
    case NodeType::kConstant:
      return "constant";
  }
  return "";
}

// Each node as "kind text: full text".
std::vector<std::string> nodesOf(const ProgramGraph& graph) {
  std::vector<std::string> result;
  for (const ProgramGraph::Node& node : graph.nodes) {
    result.push_back(kindOf(node.type) + " " + graph.texts[node.text] + ": " + node.fullText.str());
  }
  return result;
}

// The edges of a flow as "source -position-> target".
std::vector<std::string> edgesOf(const ProgramGraph& graph, Flow flow) {
  std::vector<std::string> result;
  for (const ProgramGraph::Edge& edge : graph.edges) {
    if (edge.flow == flow) {
      result.push_back(std::to_string(edge.source) + " -" + std::to_string(edge.position) + "-> " +
                       std::to_string(edge.target));
    }
  }
  return result;
}

TEST(ProgramGraphTest, EmptyModuleHasTheExternalNodeOnly) {
  const ProgramGraph graph = graphOf("; nothing\n");
  EXPECT_THAT(nodesOf(graph), ElementsAre("instruction [external]: "));
  EXPECT_TRUE(graph.edges.empty());
  EXPECT_TRUE(graph.functions.empty());
}

TEST(ProgramGraphTest, BranchAndPhi) {
  const ProgramGraph graph = graphOf(
      "define i32 @f(i1 %c, i32 %x) {\n"
      "  br i1 %c, label %1, label %2\n"
      "1:\n  %a = add nsw i32 %x, %x\n  br label %2\n"
      "2:\n  %p = phi i32 [ 7, %0 ], [ %a, %1 ]\n  ret i32 %p\n"
      "}\n");
  EXPECT_THAT(nodesOf(graph),
              ElementsAre("instruction [external]: ",
                          "instruction br: br i1 %0, label %3, label %5",         // 1
                          "instruction add: %4 = add nsw i32 %1, %1",             // 2
                          "instruction br: br label %5",                          // 3
                          "instruction phi: %6 = phi i32 [ 7, %2 ], [ %4, %3 ]",  // 4
                          "instruction ret: ret i32 %6",                          // 5
                          "variable i1: i1 %0", "variable i32: i32 %1",           // 6, 7
                          "variable i32: i32 %4", "variable i32: i32 %6",         // 8, 9
                          "constant i32: i32 7"));                                // 10
  EXPECT_THAT(edgesOf(graph, Flow::kControl),
              UnorderedElementsAre("1 -0-> 2", "1 -1-> 4", "2 -0-> 3", "3 -0-> 4", "4 -0-> 5"));
  EXPECT_THAT(edgesOf(graph, Flow::kData),
              UnorderedElementsAre("6 -0-> 1", "7 -0-> 2", "7 -1-> 2", "2 -0-> 8", "8 -1-> 4",
                                   "10 -0-> 4", "4 -0-> 9", "9 -0-> 5"));
  EXPECT_THAT(edgesOf(graph, Flow::kCall), ElementsAre());
  EXPECT_THAT(graph.functions, ElementsAre("f"));
  std::vector<int64_t> blocks;
  for (const ProgramGraph::Node& node : graph.nodes) {
    blocks.push_back(node.block);
  }
  EXPECT_THAT(blocks, ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 1, 2, 0));
}

TEST(ProgramGraphTest, Switch) {
  const ProgramGraph graph = graphOf(
      "define void @f(i8 %x) {\n"
      "  switch i8 %x, label %3 [ i8 5, label %1\n    i8 6, label %2\n    i8 7, label %1 ]\n"
      "1:\n  ret void\n2:\n  unreachable\n3:\n  ret void\n}\n");
  EXPECT_THAT(nodesOf(graph),
              ElementsAre("instruction [external]: ",
                          "instruction switch: switch i8 %0, label %4 [\n    i8 5, label %2\n"
                          "    i8 6, label %3\n    i8 7, label %2\n  ]",
                          "instruction ret: ret void", "instruction unreachable: unreachable",
                          "instruction ret: ret void", "variable i8: i8 %0", "constant i8: i8 5",
                          "constant i8: i8 6", "constant i8: i8 7"));
  // The default comes first, and two cases go to the same place.
  EXPECT_THAT(edgesOf(graph, Flow::kControl),
              UnorderedElementsAre("1 -0-> 4", "1 -1-> 2", "1 -2-> 3", "1 -3-> 2"));
  EXPECT_THAT(edgesOf(graph, Flow::kData),
              UnorderedElementsAre("5 -0-> 1", "6 -2-> 1", "7 -4-> 1", "8 -6-> 1"));
}

TEST(ProgramGraphTest, CallsGoToTheEntryAndComeBackFromReturns) {
  const ProgramGraph graph = graphOf(
      "define i32 @callee(i1 %c) {\n"
      "  br i1 %c, label %1, label %2\n"
      "1:\n  ret i32 1\n2:\n  ret i32 2\n}\n"
      "define i32 @caller() {\n"
      "  %r = call i32 @callee(i1 true)\n  ret i32 %r\n}\n");
  ASSERT_EQ(nodesOf(graph)[4], "instruction call: %1 = call i32 @callee(i1 true)");
  EXPECT_THAT(edgesOf(graph, Flow::kCall),
              UnorderedElementsAre("4 -0-> 1", "2 -0-> 4", "3 -0-> 4"));
  EXPECT_THAT(edgesOf(graph, Flow::kControl),
              UnorderedElementsAre("1 -0-> 2", "1 -1-> 3", "4 -0-> 5"));
  EXPECT_THAT(graph.functions, ElementsAre("callee", "caller"));
  EXPECT_EQ(graph.nodes[3].function, 0);
  EXPECT_EQ(graph.nodes[4].function, 1);
  EXPECT_EQ(graph.nodes[4].block, 3) << "Blocks are counted over the whole module";
  // Nodes: 6 %c, 7 the result of the call, then the constants 1, 2 and true.
  EXPECT_THAT(
      edgesOf(graph, Flow::kData),
      UnorderedElementsAre("6 -0-> 1", "8 -0-> 2", "9 -0-> 3", "10 -0-> 4", "4 -0-> 7", "7 -0-> 5"))
      << "A function that is called by name is not data";
}

TEST(ProgramGraphTest, DeclarationsAreOutside) {
  const ProgramGraph graph = graphOf(
      "declare void @g()\n"
      "define void @f(ptr %p) {\n  call void @g()\n  call void %p()\n  ret void\n}\n");
  EXPECT_THAT(edgesOf(graph, Flow::kCall),
              UnorderedElementsAre("1 -0-> 0", "0 -0-> 1", "2 -0-> 0", "0 -0-> 2"));
  EXPECT_THAT(edgesOf(graph, Flow::kData), UnorderedElementsAre("4 -0-> 2"))
      << "A pointer that is called is data";
  EXPECT_THAT(graph.functions, ElementsAre("f"));
}

TEST(ProgramGraphTest, AnAliasIsDataAndIsCalled) {
  const ProgramGraph graph = graphOf(
      "@a = alias void (), ptr @g\n"
      "define void @g() {\n  ret void\n}\n"
      "define void @f() {\n  call void @a()\n  ret void\n}\n");
  EXPECT_THAT(edgesOf(graph, Flow::kCall), UnorderedElementsAre("2 -0-> 1", "1 -0-> 2"));
  ASSERT_EQ(nodesOf(graph)[4], "constant ptr: ptr @a");
  EXPECT_THAT(edgesOf(graph, Flow::kData), ElementsAre("4 -0-> 2"));
}

TEST(ProgramGraphTest, ConstantsAndGlobalsAreSharedByFunctions) {
  const ProgramGraph graph = graphOf(
      "%0 = type { i32, i32 }\n"
      "@g = global i32 3\n"
      "define void @f() {\n  store i32 1, ptr @g\n  ret void\n}\n"
      "define void @h(%0 %s) {\n  store i32 1, ptr @g\n  store ptr @f, ptr @g\n  ret void\n}\n");
  EXPECT_THAT(
      nodesOf(graph),
      ElementsAre("instruction [external]: ", "instruction store: store i32 1, ptr @g, align 4",
                  "instruction ret: ret void", "instruction store: store i32 1, ptr @g, align 4",
                  "instruction store: store ptr @f, ptr @g, align 8", "instruction ret: ret void",
                  "variable %0: %0 %0", "constant i32: i32 1", "constant ptr: ptr @g",
                  "constant ptr: ptr @f"));
  EXPECT_THAT(
      edgesOf(graph, Flow::kData),
      UnorderedElementsAre("7 -0-> 1", "8 -1-> 1", "7 -0-> 3", "8 -1-> 3", "9 -0-> 4", "8 -1-> 4"));
}

TEST(ProgramGraphTest, LabelsMetadataAndAssemblyAreNotData) {
  const ProgramGraph graph = graphOf(
      "declare void @llvm.experimental.noalias.scope.decl(metadata)\n"
      "define void @f() {\n"
      "  call void @llvm.experimental.noalias.scope.decl(metadata !0)\n"
      "  call void asm sideeffect \"\", \"\"()\n"
      "  br label %1\n1:\n  ret void\n}\n"
      "!0 = !{!1}\n!1 = distinct !{!1, !2}\n!2 = distinct !{!2}\n");
  EXPECT_THAT(edgesOf(graph, Flow::kData), ElementsAre());
  EXPECT_THAT(edgesOf(graph, Flow::kCall),
              UnorderedElementsAre("1 -0-> 0", "0 -0-> 1", "2 -0-> 0", "0 -0-> 2"));
}

TEST(ProgramGraphTest, UnwindingIsControl) {
  const ProgramGraph graph = graphOf(
      "declare i32 @g()\ndeclare i32 @__gxx_personality_v0(...)\n"
      "define void @f() personality ptr @__gxx_personality_v0 {\n"
      "  %1 = invoke i32 @g() to label %ok unwind label %bad\n"
      "ok:\n  ret void\n"
      "bad:\n  %2 = landingpad { ptr, i32 } catch ptr null\n  resume { ptr, i32 } %2\n}\n");
  EXPECT_THAT(edgesOf(graph, Flow::kControl),
              UnorderedElementsAre("1 -0-> 2", "1 -1-> 3", "3 -0-> 4"));
  EXPECT_THAT(edgesOf(graph, Flow::kCall), UnorderedElementsAre("1 -0-> 0", "0 -0-> 1"));
  EXPECT_EQ(nodesOf(graph)[6], "variable { ptr, i32 }: { ptr, i32 } %4");
}

// What a graph of a module has to have, counted independently of how graphs are made.
void expectInvariants(const llvm::Module& module, const std::string& name) {
  const ProgramGraph graph = makeProgramGraph(module);
  size_t instructions = 0;
  size_t variables = 0;
  size_t controlEdges = 0;
  size_t calls = 0;
  size_t definitions = 0;
  for (const llvm::Function& function : module) {
    definitions += !function.isDeclaration();
    variables += function.isDeclaration() ? 0 : function.arg_size();
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      ++instructions;
      variables += !instruction.getType()->isVoidTy();
      controlEdges += instruction.isTerminator() ? instruction.getNumSuccessors() : 1;
      calls += llvm::isa<llvm::CallBase>(instruction);
    }
  }
  std::map<NodeType, size_t> types;
  for (const ProgramGraph::Node& node : graph.nodes) {
    ++types[node.type];
    EXPECT_LT(static_cast<size_t>(node.text), graph.texts.size());
    EXPECT_TRUE(definitions == 0 || static_cast<size_t>(node.function) < definitions);
  }
  EXPECT_EQ(types[NodeType::kInstruction], instructions + 1) << name;
  EXPECT_EQ(types[NodeType::kVariable], variables) << name;
  EXPECT_EQ(graph.functions.size(), definitions) << name;
  std::map<Flow, size_t> flows;
  std::vector<size_t> defined(graph.nodes.size());
  std::set<std::tuple<int64_t, int64_t, int64_t>> identities;
  const std::vector<int64_t> keys = graph.edgeKeys();
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    const auto& [source, target, flow, position] = graph.edges[i];
    ++flows[flow];
    EXPECT_TRUE(identities.emplace(source, target, keys[i]).second) << name;
    const NodeType from = graph.nodes[source].type;
    const NodeType to = graph.nodes[target].type;
    if (flow == Flow::kData) {
      EXPECT_NE(from == NodeType::kInstruction, to == NodeType::kInstruction) << name;
      EXPECT_NE(to, NodeType::kConstant) << name;
      defined[target] += to == NodeType::kVariable;
    } else {
      EXPECT_EQ(from, NodeType::kInstruction) << name;
      EXPECT_EQ(to, NodeType::kInstruction) << name;
    }
  }
  EXPECT_EQ(flows[Flow::kControl], controlEdges) << name;
  EXPECT_GE(flows[Flow::kCall], calls) << name;
  EXPECT_THAT(defined, ::testing::Each(::testing::Le(1U))) << name;
}

TEST(ProgramGraphTest, InvariantsHoldForAllKernels) {
  for (const std::string& name : sample(kernelNames(), 5)) {
    for (const char* pipeline : {"", "default<O2>"}) {
      const auto compilation = startCompilation(kernel(name));
      if (*pipeline != '\0') {
        applyPass(*compilation, pipeline);
      }
      expectInvariants(compilation->module(), name + " " + pipeline);
    }
  }
}

// Printing one instruction alone is slow but simple.
TEST(ProgramGraphTest, TextsAreThoseOfThePrintedModule) {
  for (const auto& [name, bitcode] : kernels()) {
    const auto compilation = startCompilation(bitcode);
    const std::string ir = printIr(compilation->module());
    const ProgramGraph graph = makeProgramGraph(compilation->module());
    size_t position = 0;
    for (size_t i = 1; graph.nodes[i].type == NodeType::kInstruction; ++i) {
      const std::string line = "\n  " + graph.nodes[i].fullText.str() + "\n";
      const size_t found = ir.find(line, position);
      ASSERT_NE(found, std::string::npos) << name << ": " << line;
      // The end of this line is the beginning of the next.
      position = found + line.size() - 1;
    }
  }
}

// The typed operands of a module in the order of their nodes, as LLVM prints them. Making this is
// slow: LLVM numbers the values of a function for each.
std::vector<std::string> printedOperands(const llvm::Module& module) {
  llvm::SetVector<const llvm::Value*> variables;
  llvm::SetVector<const llvm::Value*> constants;
  for (const llvm::Function& function : module) {
    for (const llvm::Argument& argument : function.args()) {
      if (!function.isDeclaration()) {
        variables.insert(&argument);
      }
    }
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.getType()->isVoidTy()) {
        variables.insert(&instruction);
      }
    }
  }
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      for (const llvm::Use& use : instruction.operands()) {
        if (llvm::isa<llvm::Constant>(use) &&
            !(call != nullptr && call->isCallee(&use) && llvm::isa<llvm::Function>(use))) {
          constants.insert(use);
        }
      }
      if (const auto* branches = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
        for (const auto& branch : branches->cases()) {
          constants.insert(branch.getCaseValue());
        }
      }
    }
  }
  variables.insert(constants.begin(), constants.end());
  std::vector<std::string> result;
  for (const llvm::Value* value : variables) {
    llvm::raw_string_ostream stream(result.emplace_back());
    value->printAsOperand(stream, /*PrintType=*/true, &module);
  }
  return result;
}

TEST(ProgramGraphTest, TextsOfValuesAreThoseOfOperands) {
  randomWalk(2, [](Compilation& compilation, bool, const std::string& step) {
    const ProgramGraph graph = makeProgramGraph(compilation.module());
    std::vector<std::string> texts;
    for (const ProgramGraph::Node& node : graph.nodes) {
      if (node.type != NodeType::kInstruction) {
        texts.push_back(node.fullText.str());
        EXPECT_TRUE(node.fullText.starts_with(graph.texts[node.text] + " ")) << step;
      }
    }
    EXPECT_EQ(texts, printedOperands(compilation.module())) << step;
  });
}

}  // namespace
}  // namespace compiler_gym::llvm_service
