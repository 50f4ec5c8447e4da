#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"

namespace compiler_gym::llvm_service {

/// Properties of an observation space's values besides their range.
struct Properties {
  bool deterministic = true;
  bool platformDependent = false;
};

/// Text of any length, or of at most maxLength bytes.
ObservationSpace textSpace(const std::string& name, Properties properties = {},
                           std::optional<int64_t> maxLength = std::nullopt);

/// Text of exactly `length` bytes.
ObservationSpace fixedTextSpace(const std::string& name, int64_t length);

/// Bytes of any number.
ObservationSpace bytesSpace(const std::string& name);

/// One integer from 0 upwards. Default 0.
ObservationSpace countSpace(const std::string& name, Properties properties = {});

/// A vector of `size` integers from 0 upwards. Default zeros.
ObservationSpace countsSpace(const std::string& name, int64_t size);

/// True or false. Default false.
ObservationSpace flagSpace(const std::string& name);

/// Seconds, any number of measurements of them. Not deterministic.
ObservationSpace secondsSpace(const std::string& name);

/// The values as a vector.
FloatTensor floatTensor(const std::vector<float>& values);

/// A vector of floating point numbers of any length.
ObservationSpace vectorSpace(const std::string& name);

/// A sequence of such vectors.
ObservationSpace vectorsSpace(const std::string& name);

/// The types of a table's columns.
enum class Column { kIntegers, kTexts, kFlags };

/// A table with any number of rows: a dictionary of columns, each a sequence of integers (of any
/// sign), of texts or of truth values. Default: no rows.
ObservationSpace tableSpace(const std::string& name,
                            const std::vector<std::pair<std::string, Column>>& columns);

/// Adds a column to an event that is a table, or becomes one.
void addIntegers(Event& table, const std::string& column, const std::vector<int64_t>& values);
void addTexts(Event& table, const std::string& column, const std::vector<std::string>& values);
void addFlags(Event& table, const std::string& column, const std::vector<bool>& values);

/// Adds a column of integers: the result of `get` for each element.
template <typename Element, typename Get>
void addColumn(Event& table, const std::string& column, const std::vector<Element>& elements,
               Get get) {
  Int64Tensor& tensor =
      *(*table.mutable_event_dict()->mutable_event())[column].mutable_int64_tensor();
  tensor.add_shape(elements.size());
  tensor.mutable_value()->Reserve(static_cast<int>(elements.size()));
  for (const Element& element : elements) tensor.add_value(static_cast<int64_t>(get(element)));
}

/// The space as all clients can read it: one with sequences of texts, which those of CompilerGym
/// 0.2.5 cannot, moves to the field exact_space.
ObservationSpace forAllClients(ObservationSpace space);

/// Descriptions of the values, as in the space.
const Space& exactSpace(const ObservationSpace& space);

/// Makes the event hold a vector of integers.
void setCounts(const std::vector<int64_t>& counts, Event& event);

/// Makes the event hold bytes.
void setBytes(std::string bytes, Event& event);

/// Makes the event hold a vector of doubles, which may be empty.
void setSeconds(const std::vector<double>& seconds, Event& event);

}  // namespace compiler_gym::llvm_service
