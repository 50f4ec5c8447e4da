#include "llvm_service/observations/IrTokens.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

namespace {

void setTokens(const std::vector<IrToken>& tokens, Event& event) {
  auto& fields = *event.mutable_event_dict()->mutable_event();
  Int64Tensor& ids = *fields["token_id"].mutable_int64_tensor();
  StringTensor& kinds = *fields["token_kind"].mutable_string_tensor();
  StringTensor& categories = *fields["token_category"].mutable_string_tensor();
  StringTensor& values = *fields["token_value"].mutable_string_tensor();
  ids.add_shape(tokens.size());
  kinds.add_shape(tokens.size());
  categories.add_shape(tokens.size());
  values.add_shape(tokens.size());
  for (const IrToken& token : tokens) {
    ids.add_value(token.id);
    kinds.add_value(token.kind);
    categories.add_value(token.category);
    values.add_value(token.value);
  }
}

ObservationSpace makeSpace() {
  ObservationSpace space;
  space.set_name("LexedIr");
  space.set_deterministic(true);
  auto& fields = *space.mutable_space()->mutable_space_dict()->mutable_space();
  Int64SequenceSpace& ids = *fields["token_id"].mutable_int64_sequence();
  ids.mutable_length_range()->set_min(0);
  ids.mutable_scalar_range()->set_min(0);
  ids.mutable_scalar_range()->set_max(countTokenKinds() - 1);
  for (const char* name : {"token_kind", "token_category", "token_value"}) {
    fields[name].mutable_string_sequence()->mutable_length_range()->set_min(0);
  }
  return space;
}

}  // namespace

/// LexedIr: the tokens of the module's textual IR, as four vectors with one element for each token:
/// token_id, token_kind, token_category and token_value. See IrTokens.h.
Observations lexedIr() {
  const auto compute = [](const ObservationInput& input, Event& event) {
    setTokens(lexIr(printIr(input.compilation.module())), event);
    return grpc::Status::OK;
  };
  return {{makeSpace(), compute, /*exports=*/true}};
}

}  // namespace compiler_gym::llvm_service
