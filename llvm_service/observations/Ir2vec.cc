#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/Ir2vecVocabulary.h"
#include "llvm_service/observations/FunctionParts.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using Vector = Ir2vecVocabulary::Vector;
using Vectors = std::vector<Vector>;
// Returns the vectors of one function for an observation.
using VectorsOf = Vectors (*)(const Ir2vecVocabulary&, const llvm::Function&);

void setVector(const Vector& vector, Event& event) {
  event.mutable_double_tensor()->add_shape(vector.size());
  event.mutable_double_tensor()->mutable_value()->Add(vector.begin(), vector.end());
}

Status requireVocabulary(const ObservationInput& input) {
  RETURN_IF_ERROR(Ir2vecVocabulary::availability());
  if (input.ir2vecVocabulary != nullptr) {
    return Status::OK;
  }
  return {grpc::StatusCode::FAILED_PRECONDITION,
          "Ir2vec needs a vocabulary, which this service was started without. Start it with "
          "--ir2vec_vocabulary=FILE, or send the session parameter llvm.set_ir2vec_vocabulary with "
          "the path of a file on its machine. The Python package has one, "
          "compiler_gym/data/vocabularies/ir2vec/vocabulary.json"};
}

// Calls `use` with each vector of each function that has a body. The vectors depend only on the
// function and the vocabulary. A new vocabulary clears the cached ones.
void forEachVector(const ObservationInput& input, VectorsOf vectorsOf,
                   const std::function<void(const Vector&)>& use) {
  forEachFunction<Vectors>(
      input,
      [&](const llvm::Function& function) {
        return function.isDeclaration() ? Vectors() : vectorsOf(*input.ir2vecVocabulary, function);
      },
      [&](const Vectors& vectors) {
        for (const Vector& vector : vectors) {
          use(vector);
        }
      });
}

Observation sumOf(const std::string& name, VectorsOf vectorsOf) {
  const auto compute = [vectorsOf](const ObservationInput& input, Event& event) {
    RETURN_IF_ERROR(requireVocabulary(input));
    Vector sum(input.ir2vecVocabulary->dimension());
    forEachVector(input, vectorsOf, [&](const Vector& vector) {
      std::transform(sum.begin(), sum.end(), vector.begin(), sum.begin(), std::plus<>());
    });
    setVector(sum, event);
    return Status::OK;
  };
  return {vectorSpace(name), compute};
}

Observation rowsOf(const std::string& name, VectorsOf vectorsOf) {
  const auto compute = [vectorsOf](const ObservationInput& input, Event& event) {
    RETURN_IF_ERROR(requireVocabulary(input));
    ListEvent& rows = *event.mutable_event_list();
    forEachVector(input, vectorsOf,
                  [&](const Vector& vector) { setVector(vector, *rows.add_event()); });
    return Status::OK;
  };
  return {vectorsSpace(name), compute};
}

}  // namespace

/// Ir2vec, Ir2vecFunctions, Ir2vecBlocks, Ir2vecInstructions: symbolic embeddings by LLVM's IR2Vec
/// analysis. The first is one vector of float64 of the program, the sum of those of its functions;
/// the others are sequences of such vectors, one for each function with a body (as in
/// FunctionProperties), each of its blocks and each of its instructions, in the order of the
/// module. The length of the vectors is that of the vocabulary's. Without a vocabulary (see
/// Ir2vecVocabulary.h) they are FAILED_PRECONDITION errors, and UNIMPLEMENTED before LLVM 22.
Observations ir2vec() {
  const auto ofFunction = [](const Ir2vecVocabulary& vocabulary, const llvm::Function& function) {
    return Vectors{vocabulary.ofFunction(function)};
  };
  const auto ofBlocks = [](const Ir2vecVocabulary& vocabulary, const llvm::Function& function) {
    return vocabulary.ofBlocks(function);
  };
  const auto ofInstructions = [](const Ir2vecVocabulary& vocabulary,
                                 const llvm::Function& function) {
    return vocabulary.ofInstructions(function);
  };
  return {sumOf("Ir2vec", ofFunction), rowsOf("Ir2vecFunctions", ofFunction),
          rowsOf("Ir2vecBlocks", ofBlocks), rowsOf("Ir2vecInstructions", ofInstructions)};
}

}  // namespace compiler_gym::llvm_service
