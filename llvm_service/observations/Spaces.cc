#include "llvm_service/observations/Spaces.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace compiler_gym::llvm_service {

namespace {

ObservationSpace makeSpace(const std::string& name, Properties properties) {
  ObservationSpace space;
  space.set_name(name);
  space.set_deterministic(properties.deterministic);
  space.set_platform_dependent(properties.platformDependent);
  return space;
}

Int64Tensor filledTensor(int64_t size, int64_t value) {
  Int64Tensor tensor;
  tensor.add_shape(size);
  tensor.mutable_value()->Resize(size, value);
  return tensor;
}

Space columnSpace(Column column) {
  Space space;
  switch (column) {
    case Column::kIntegers:
      space.mutable_int64_sequence()->mutable_length_range()->set_min(0);
      break;
    case Column::kTexts:
      space.mutable_string_sequence()->mutable_length_range()->set_min(0);
      break;
    case Column::kFlags:
      space.mutable_boolean_sequence()->mutable_length_range()->set_min(0);
      break;
  }
  return space;
}

bool hasTextSequence(const Space& space) {
  const auto isOne = [](const auto& entry) { return hasTextSequence(entry.second); };
  const auto& fields = space.space_dict().space();
  return space.has_string_sequence() || std::any_of(fields.begin(), fields.end(), isOne);
}

Event& columnOf(Event& table, const std::string& column) {
  return (*table.mutable_event_dict()->mutable_event())[column];
}

}  // namespace

ObservationSpace textSpace(const std::string& name, Properties properties,
                           std::optional<int64_t> maxLength) {
  ObservationSpace space = makeSpace(name, properties);
  Int64Range* length = space.mutable_space()->mutable_string_value()->mutable_length_range();
  length->set_min(0);
  if (maxLength) {
    length->set_max(*maxLength);
  }
  return space;
}

ObservationSpace fixedTextSpace(const std::string& name, int64_t length) {
  ObservationSpace space = textSpace(name, {}, length);
  space.mutable_space()->mutable_string_value()->mutable_length_range()->set_min(length);
  return space;
}

ObservationSpace bytesSpace(const std::string& name) {
  ObservationSpace space = makeSpace(name, {});
  ByteSequenceSpace* sequence = space.mutable_space()->mutable_byte_sequence();
  sequence->mutable_length_range()->set_min(0);
  sequence->mutable_scalar_range()->set_min(std::numeric_limits<int8_t>::min());
  sequence->mutable_scalar_range()->set_max(std::numeric_limits<int8_t>::max());
  return space;
}

ObservationSpace countSpace(const std::string& name, Properties properties) {
  ObservationSpace space = makeSpace(name, properties);
  space.mutable_space()->mutable_int64_value()->set_min(0);
  space.mutable_default_observation()->set_int64_value(0);
  return space;
}

ObservationSpace countsSpace(const std::string& name, int64_t size) {
  ObservationSpace space = makeSpace(name, {});
  Int64Box* box = space.mutable_space()->mutable_int64_box();
  *box->mutable_low() = filledTensor(size, 0);
  *box->mutable_high() = filledTensor(size, std::numeric_limits<int64_t>::max());
  *space.mutable_default_observation()->mutable_int64_tensor() = filledTensor(size, 0);
  return space;
}

ObservationSpace flagSpace(const std::string& name) {
  ObservationSpace space = makeSpace(name, {/*deterministic=*/true, /*platformDependent=*/true});
  space.mutable_space()->mutable_boolean_value();
  space.mutable_default_observation()->set_boolean_value(false);
  return space;
}

ObservationSpace secondsSpace(const std::string& name) {
  ObservationSpace space = makeSpace(name, {/*deterministic=*/false, /*platformDependent=*/true});
  DoubleSequenceSpace* sequence = space.mutable_space()->mutable_double_sequence();
  sequence->mutable_length_range()->set_min(0);
  sequence->mutable_scalar_range()->set_min(0);
  return space;
}

ObservationSpace vectorSpace(const std::string& name) {
  ObservationSpace space = makeSpace(name, {});
  space.mutable_space()->mutable_double_sequence()->mutable_length_range()->set_min(0);
  return space;
}

ObservationSpace vectorsSpace(const std::string& name) {
  ObservationSpace space = makeSpace(name, {});
  SpaceSequenceSpace* rows = space.mutable_space()->mutable_space_sequence();
  rows->mutable_length_range()->set_min(0);
  *rows->mutable_space() = vectorSpace(name).space();
  return space;
}

ObservationSpace tableSpace(const std::string& name,
                            const std::vector<std::pair<std::string, Column>>& columns) {
  ObservationSpace space = makeSpace(name, {});
  for (const auto& [key, column] : columns) {
    (*space.mutable_space()->mutable_space_dict()->mutable_space())[key] = columnSpace(column);
    Event& empty = *space.mutable_default_observation();
    switch (column) {
      case Column::kIntegers:
        addIntegers(empty, key, {});
        break;
      case Column::kTexts:
        addTexts(empty, key, {});
        break;
      case Column::kFlags:
        addFlags(empty, key, {});
        break;
    }
  }
  return space;
}

ObservationSpace forAllClients(ObservationSpace space) {
  if (hasTextSequence(space.space())) {
    space.mutable_exact_space()->Swap(space.mutable_space());
    *space.mutable_space() = textSpace("").space();
  }
  return space;
}

const Space& exactSpace(const ObservationSpace& space) {
  return space.has_exact_space() ? space.exact_space() : space.space();
}

void addIntegers(Event& table, const std::string& column, const std::vector<int64_t>& values) {
  setCounts(values, columnOf(table, column));
}

void addTexts(Event& table, const std::string& column, const std::vector<std::string>& values) {
  StringTensor* tensor = columnOf(table, column).mutable_string_tensor();
  tensor->add_shape(values.size());
  tensor->mutable_value()->Add(values.begin(), values.end());
}

void addFlags(Event& table, const std::string& column, const std::vector<bool>& values) {
  BooleanTensor* tensor = columnOf(table, column).mutable_boolean_tensor();
  tensor->add_shape(values.size());
  tensor->mutable_value()->Add(values.begin(), values.end());
}

void setCounts(const std::vector<int64_t>& counts, Event& event) {
  Int64Tensor* tensor = event.mutable_int64_tensor();
  tensor->add_shape(counts.size());
  tensor->mutable_value()->Add(counts.begin(), counts.end());
}

FloatTensor floatTensor(const std::vector<float>& values) {
  FloatTensor tensor;
  tensor.add_shape(static_cast<int64_t>(values.size()));
  tensor.mutable_value()->Add(values.begin(), values.end());
  return tensor;
}

void setBytes(std::string bytes, Event& event) {
  event.mutable_byte_tensor()->add_shape(bytes.size());
  event.mutable_byte_tensor()->set_value(std::move(bytes));
}

void setSeconds(const std::vector<double>& seconds, Event& event) {
  DoubleTensor* tensor = event.mutable_double_tensor();
  tensor->add_shape(seconds.size());
  tensor->mutable_value()->Add(seconds.begin(), seconds.end());
}

}  // namespace compiler_gym::llvm_service
