#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"

namespace llvm {
class Module;
}

namespace compiler_gym::llvm_service {

/// A program as a graph, as defined by Cummins et al., "ProGraML: A Graph-based Program
/// Representation for Data Flow Analysis and Compiler Optimizations", ICML 2021.
///
/// Nodes, in this order:
///   - node 0, "[external]", which stands for all code that is not in the module;
///   - every instruction, in the order of the module;
///   - every variable: the arguments of each function, then its instructions that have a result;
///   - every distinct constant that an instruction uses (global variables and functions whose
///     address is taken included), in the order of first use.
///
/// Edges:
///   - control: from an instruction to one that may be next; the position is the number of the
///     successor, 0 within a block;
///   - data: from an instruction to the variable that it defines, position 0; from a variable or
///     constant to an instruction that uses it, where the position is the number of the operand.
///     The value of case i of a switch is operand 2 + 2i. Functions that are called by name,
///     labels, metadata and inline assembly are not data;
///   - call, position 0: from a call to the first instruction of what it calls, and from each of
///     its returns to the call; to node 0 and from it if that is a declaration or not known.
struct ProgramGraph {
  enum class NodeType { kInstruction, kVariable, kConstant };
  enum class Flow { kControl, kData, kCall };

  struct Node {
    NodeType type;
    /// Index in `functions`; 0 for node 0 and constants, which belong to none.
    int64_t function;
    /// Number of the basic block, counted over the whole module; that of the entry for arguments; 0
    /// for node 0 and constants.
    int64_t block;
    /// Index in `texts`: the opcode of an instruction, the type of a variable or constant.
    int64_t text;
    /// The instruction, or the typed operand, as in textual IR; empty for node 0. Belongs to the
    /// graph.
    llvm::StringRef fullText;
  };

  struct Edge {
    int64_t source;
    int64_t target;
    Flow flow;
    int64_t position;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  /// The distinct texts of nodes; the first is that of node 0.
  std::vector<std::string> texts;
  /// The names of the functions that are defined, in the order of the module.
  std::vector<std::string> functions;
  std::string moduleName;
  std::string targetTriple;
  std::string dataLayout;

  /// Holds the full texts of nodes.
  llvm::BumpPtrAllocator storage;

  /// The number of earlier edges with the same ends, for each edge.
  std::vector<int64_t> edgeKeys() const;
};

/// The graph of a module, whose blocks must all have terminators.
ProgramGraph makeProgramGraph(const llvm::Module& module);

}  // namespace compiler_gym::llvm_service
