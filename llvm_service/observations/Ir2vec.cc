#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm_service/Ir2vecVocabulary.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using Vector = Ir2vecVocabulary::Vector;
using Vectors = std::vector<Vector>;
// The vectors of one function that an observation consists of.
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
          "Ir2vec needs a vocabulary, and LLVM packages contain none. Start the service with "
          "--ir2vec_vocabulary=FILE, or send the session parameter llvm.set_ir2vec_vocabulary with "
          "the path of a file on its machine. LLVM's source tree has trained ones in "
          "llvm/lib/Analysis/models, e.g. seedEmbeddingVocab75D.json"};
}

Status computeProgram(const ObservationInput& input, Event& event) {
  RETURN_IF_ERROR(requireVocabulary(input));
  Vector sum(input.ir2vecVocabulary->dimension());
  for (const llvm::Function& function : input.compilation.module()) {
    if (!function.isDeclaration()) {
      const Vector vector = input.ir2vecVocabulary->ofFunction(function);
      std::transform(sum.begin(), sum.end(), vector.begin(), sum.begin(), std::plus<>());
    }
  }
  setVector(sum, event);
  return Status::OK;
}

Observation rowsOf(const std::string& name, VectorsOf vectorsOf) {
  const auto compute = [vectorsOf](const ObservationInput& input, Event& event) {
    RETURN_IF_ERROR(requireVocabulary(input));
    ListEvent& rows = *event.mutable_event_list();
    for (const llvm::Function& function : input.compilation.module()) {
      if (!function.isDeclaration()) {
        for (const Vector& vector : vectorsOf(*input.ir2vecVocabulary, function)) {
          setVector(vector, *rows.add_event());
        }
      }
    }
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
  return {{vectorSpace("Ir2vec"), computeProgram},
          rowsOf("Ir2vecFunctions", ofFunction),
          rowsOf("Ir2vecBlocks", ofBlocks),
          rowsOf("Ir2vecInstructions", ofInstructions)};
}

}  // namespace compiler_gym::llvm_service
