#include "llvm_service/Ir2vecVocabulary.h"

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"

#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Analysis/IR2Vec.h"
#include "llvm/Support/JSON.h"
#include "llvm_service/LlvmCompatibility.h"
#endif

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

}  // namespace

#if LLVM_VERSION_MAJOR >= 22

namespace {

using llvm::ir2vec::Embedder;
using llvm::ir2vec::Embedding;
using llvm::ir2vec::VocabStorage;
using llvm::ir2vec::Vocabulary;
using Map = VocabStorage::VocabMap;

class LlvmVocabulary final : public Ir2vecVocabulary {
 public:
  explicit LlvmVocabulary(VocabStorage storage) : vocabulary_(std::move(storage)) {}

  size_t dimension() const final { return vocabulary_.getDimension(); }

  Vector ofFunction(const llvm::Function& function) const final {
    return embedder(function)->getFunctionVector().getData();
  }

  std::vector<Vector> ofBlocks(const llvm::Function& function) const final {
    std::vector<Vector> vectors;
    const auto blocks = embedder(function);
    for (const llvm::BasicBlock& block : function) {
      vectors.push_back(blocks->getBBVector(block).getData());
    }
    return vectors;
  }

  std::vector<Vector> ofInstructions(const llvm::Function& function) const final {
    std::vector<Vector> vectors;
    const auto instructions = embedder(function);
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        vectors.push_back(instructions->getInstVector(instruction).getData());
      }
    }
    return vectors;
  }

 private:
  std::unique_ptr<Embedder> embedder(const llvm::Function& function) const {
    return Embedder::create(llvm::IR2VecKind::Symbolic, function, vocabulary_);
  }

  const Vocabulary vocabulary_;
};

Status malformed(const std::string& name, const std::string& problem) {
  return {StatusCode::INVALID_ARGUMENT,
          "Cannot use the IR2Vec vocabulary " + name + ": " + problem +
              ". Expected JSON with the objects Opcodes, Types and Arguments, from names to arrays "
              "of numbers of one length"};
}

// Parses a section, which must not be empty: LLVM compares all vectors with the first, without a
// check that there is one.
Status parseSection(const llvm::json::Value& root, const char* section, const std::string& name,
                    Map& map, unsigned& dimension) {
  const llvm::json::Object* const sections = root.getAsObject();
  const llvm::json::Object* const vectors = sections ? sections->getObject(section) : nullptr;
  if (vectors != nullptr && vectors->empty()) return Status::OK;
  unsigned found = 0;
  if (llvm::Error error = VocabStorage::parseVocabSection(section, root, map, found)) {
    return malformed(name, llvm::toString(std::move(error)));
  }
  for (const auto& [key, vector] : map) {
    if (vector.empty() || (dimension != 0 && vector.size() != dimension)) {
      return malformed(name, std::string(section) + " gives " + key + " " +
                                 std::to_string(vector.size()) + " numbers");
    }
    dimension = static_cast<unsigned>(vector.size());
  }
  return Status::OK;
}

// Gives each opcode of branches the vector of "Br" if it has none: LLVM 23 has two such opcodes.
void addBranches(Map& opcodes) {
  const auto branch = opcodes.find("Br");
  if (branch == opcodes.end()) return;
  const Embedding vector = branch->second;
  for (const unsigned opcode : kBranchOpcodes<>) {
    opcodes.try_emplace(Vocabulary::getVocabKeyForOpcode(opcode).str(), vector);
  }
}

// Returns the vectors of consecutive names in LLVM's order.
std::vector<Embedding> takeSection(const Map& map, size_t first, size_t count, unsigned dimension,
                                   float weight) {
  std::vector<Embedding> vectors;
  for (size_t place = first; place < first + count; ++place) {
    const auto found = map.find(Vocabulary::getStringKey(static_cast<unsigned>(place)).str());
    vectors.push_back(found == map.end() ? Embedding(dimension) : found->second * weight);
  }
  return vectors;
}

}  // namespace

Status Ir2vecVocabulary::availability() { return Status::OK; }

Status Ir2vecVocabulary::parse(llvm::StringRef json, const std::string& name,
                               std::shared_ptr<const Ir2vecVocabulary>& vocabulary) {
  llvm::Expected<llvm::json::Value> root = llvm::json::parse(json);
  if (!root) {
    return malformed(name, llvm::toString(root.takeError()));
  }
  unsigned dimension = 0;
  Map opcodes;
  Map types;
  Map arguments;
  RETURN_IF_ERROR(parseSection(*root, "Opcodes", name, opcodes, dimension));
  addBranches(opcodes);
  RETURN_IF_ERROR(parseSection(*root, "Types", name, types, dimension));
  RETURN_IF_ERROR(parseSection(*root, "Arguments", name, arguments, dimension));
  if (dimension == 0) {
    return malformed(name, "it has no vectors");
  }
  // LLVM's order: opcodes, types, kinds of operands, predicates, the last two from "Arguments".
  constexpr size_t kTypes = Vocabulary::MaxOpcodes;
  constexpr size_t kOperands = kTypes + Vocabulary::MaxCanonicalTypeIDs;
  constexpr size_t kPredicates = kOperands + Vocabulary::MaxOperandKinds;
  const float argumentWeight = llvm::ir2vec::ArgWeight;
  std::vector<std::vector<Embedding>> sections;
  sections.push_back(takeSection(opcodes, 0, kTypes, dimension, llvm::ir2vec::OpcWeight));
  sections.push_back(
      takeSection(types, kTypes, kOperands - kTypes, dimension, llvm::ir2vec::TypeWeight));
  sections.push_back(
      takeSection(arguments, kOperands, kPredicates - kOperands, dimension, argumentWeight));
  sections.push_back(takeSection(arguments, kPredicates, Vocabulary::MaxPredicateKinds, dimension,
                                 argumentWeight));
  vocabulary = std::make_shared<LlvmVocabulary>(VocabStorage(std::move(sections)));
  return Status::OK;
}

#else

Status Ir2vecVocabulary::availability() {
  return {StatusCode::UNIMPLEMENTED,
          "Ir2vec needs the IR2Vec analysis of LLVM 22, and this service is built with "
          "LLVM " LLVM_VERSION_STRING};
}

Status Ir2vecVocabulary::parse(llvm::StringRef /*json*/, const std::string& /*name*/,
                               std::shared_ptr<const Ir2vecVocabulary>& /*vocabulary*/) {
  return availability();
}

#endif

Status Ir2vecVocabulary::load(const std::string& path,
                              std::shared_ptr<const Ir2vecVocabulary>& vocabulary) {
  RETURN_IF_ERROR(availability());
  const auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return {StatusCode::NOT_FOUND,
            "Cannot read the IR2Vec vocabulary \"" + path + "\": " + buffer.getError().message()};
  }
  return parse((*buffer)->getBuffer(), "\"" + path + "\"", vocabulary);
}

}  // namespace compiler_gym::llvm_service
