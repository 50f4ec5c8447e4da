#include "compiler_gym/service/proto/SpaceContainsEventChecker.h"

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

namespace compiler_gym {

namespace {

using Mismatch = SpaceContainsEventChecker::Mismatch;
using Checker = SpaceContainsEventChecker;

const Mismatch kNoMismatch = std::nullopt;

// Returns the name of the event's kind, e.g. "int64_tensor".
std::string kindOf(const Event& event) {
  if (event.value_case() == Event::VALUE_NOT_SET) return "nothing";
  return Event::descriptor()->FindFieldByNumber(event.value_case())->name();
}

Mismatch unexpectedKind(const std::string& expected, const Event& event) {
  return "expected " + expected + ", got " + kindOf(event);
}

Mismatch within(const std::string& place, Mismatch mismatch) {
  if (mismatch) mismatch = place + ": " + *mismatch;
  return mismatch;
}

// ---------------------------------------------------------------------------
// Numbers.

// Returns an element of a tensor as a number. Bytes are signed.
template <typename T>
T numberOf(T value) {
  return value;
}
int64_t numberOf(char value) { return static_cast<signed char>(value); }

template <typename Range>
Mismatch checkRange(const Range& range, decltype(range.min()) value) {
  using Limits = std::numeric_limits<std::decay_t<decltype(value)>>;
  const auto least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const auto greatest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const auto min = range.has_min() ? range.min() : least;
  const auto max = range.has_max() ? range.max() : greatest;
  // NaN fails both comparisons, and so the check.
  if (min <= value && value <= max) return kNoMismatch;
  return std::to_string(value) + " is not in range [" + std::to_string(min) + ", " +
         std::to_string(max) + "]";
}

Mismatch checkLength(const Int64Range& range, size_t length) {
  return within("length", checkRange(range, static_cast<int64_t>(length)));
}

Mismatch checkIndex(const Event& event, int64_t count) {
  if (!event.has_int64_value()) return unexpectedKind("int64_value", event);
  if (event.int64_value() >= 0 && event.int64_value() < count) return kNoMismatch;
  return std::to_string(event.int64_value()) + " is not in range [0, " + std::to_string(count) +
         ")";
}

// ---------------------------------------------------------------------------
// Tensors.

template <typename Tensor>
size_t countOf(const Tensor& tensor) {
  return static_cast<size_t>(tensor.value().size());
}

template <typename Tensor>
std::string shapeOf(const Tensor& tensor) {
  std::string text;
  for (const uint64_t dimension : tensor.shape()) {
    text += (text.empty() ? "" : ", ") + std::to_string(dimension);
  }
  return "[" + text + "]";
}

// True if the number of values in the tensor matches its shape.
template <typename Tensor>
Mismatch checkShape(const Tensor& tensor) {
  uint64_t count = 1;
  bool overflow = false;
  for (const uint64_t dimension : tensor.shape()) {
    overflow |= __builtin_mul_overflow(count, dimension, &count);
  }
  if (!overflow && count == countOf(tensor)) return kNoMismatch;
  return "a tensor of shape " + shapeOf(tensor) + " has " + std::to_string(countOf(tensor)) +
         " values";
}

template <typename Tensor>
Mismatch checkVector(const Tensor& tensor, const Int64Range& lengthRange) {
  if (tensor.shape_size() != 1) {
    return "expected a tensor of one dimension, got shape " + shapeOf(tensor);
  }
  if (Mismatch mismatch = checkShape(tensor)) return mismatch;
  return checkLength(lengthRange, countOf(tensor));
}

std::string element(size_t index) { return "element " + std::to_string(index); }

template <typename SequenceSpace, typename Tensor>
Mismatch checkSequence(const SequenceSpace& space, const Tensor& tensor) {
  if (Mismatch mismatch = checkVector(tensor, space.length_range())) return mismatch;
  for (size_t i = 0; i < countOf(tensor); ++i) {
    const auto value = numberOf(tensor.value()[i]);
    if (Mismatch mismatch = checkRange(space.scalar_range(), value)) {
      return within(element(i), mismatch);
    }
  }
  return kNoMismatch;
}

template <typename Box, typename Tensor>
Mismatch checkBox(const Box& box, const Tensor& tensor) {
  for (const Tensor* bound : {&box.low(), &box.high()}) {
    if (Mismatch mismatch = checkShape(*bound)) return within("the bounds of the space", mismatch);
    if (shapeOf(*bound) != shapeOf(tensor)) {
      return "expected shape " + shapeOf(*bound) + ", got " + shapeOf(tensor);
    }
  }
  if (Mismatch mismatch = checkShape(tensor)) return mismatch;
  for (size_t i = 0; i < countOf(tensor); ++i) {
    const auto low = numberOf(box.low().value()[i]);
    const auto high = numberOf(box.high().value()[i]);
    const auto value = numberOf(tensor.value()[i]);
    if (!(low <= value && value <= high)) {
      return element(i) + ": " + std::to_string(value) + " is not in range [" +
             std::to_string(low) + ", " + std::to_string(high) + "]";
    }
  }
  return kNoMismatch;
}

Mismatch checkPermutation(const Checker&, const Space& space, const Event& event) {
  const Int64Range& length = space.int64_sequence().length_range();
  const Int64Range& scalars = space.int64_sequence().scalar_range();
  // Unsigned, because the difference may exceed the signed range.
  const uint64_t distance =
      static_cast<uint64_t>(scalars.max()) - static_cast<uint64_t>(scalars.min());
  if (!length.has_min() || !length.has_max() || length.min() != length.max() || length.max() < 1 ||
      !scalars.has_min() || !scalars.has_max() || scalars.max() < scalars.min() ||
      distance != static_cast<uint64_t>(length.max()) - 1) {
    return "the space is not one of permutations: it must be an int64_sequence of a fixed length n "
           "and a scalar range of n integers";
  }
  if (!event.has_int64_tensor()) return unexpectedKind("int64_tensor", event);
  if (Mismatch mismatch = checkSequence(space.int64_sequence(), event.int64_tensor())) {
    return mismatch;
  }
  std::set<int64_t> seen;
  for (const int64_t value : event.int64_tensor().value()) {
    if (!seen.insert(value).second) return std::to_string(value) + " is there twice";
  }
  return kNoMismatch;
}

// ---------------------------------------------------------------------------
// Compound spaces.

Mismatch checkList(const Checker& checker, const Space& space, const Event& event) {
  if (!event.has_event_list()) return unexpectedKind("event_list", event);
  const auto& spaces = space.space_list().space();
  const auto& events = event.event_list().event();
  if (spaces.size() != events.size()) {
    return "expected " + std::to_string(spaces.size()) + " elements, got " +
           std::to_string(events.size());
  }
  for (int i = 0; i < spaces.size(); ++i) {
    if (Mismatch mismatch = checker.findMismatch(spaces[i], events[i])) {
      return within(element(i), mismatch);
    }
  }
  return kNoMismatch;
}

Mismatch checkDict(const Checker& checker, const Space& space, const Event& event) {
  if (!event.has_event_dict()) return unexpectedKind("event_dict", event);
  const auto& spaces = space.space_dict().space();
  const auto& events = event.event_dict().event();
  for (const auto& [key, value] : events) {
    if (!spaces.contains(key)) return "unexpected key \"" + key + "\"";
  }
  for (const auto& [key, valueSpace] : spaces) {
    const auto value = events.find(key);
    if (value == events.end()) return "no key \"" + key + "\"";
    if (Mismatch mismatch = checker.findMismatch(valueSpace, value->second)) {
      return within("key \"" + key + "\"", mismatch);
    }
  }
  return kNoMismatch;
}

Mismatch checkSpaceSequence(const Checker& checker, const Space& space, const Event& event) {
  if (!event.has_event_list()) return unexpectedKind("event_list", event);
  const auto& events = event.event_list().event();
  if (Mismatch mismatch =
          checkLength(space.space_sequence().length_range(), static_cast<size_t>(events.size()))) {
    return mismatch;
  }
  for (int i = 0; i < events.size(); ++i) {
    if (Mismatch mismatch = checker.findMismatch(space.space_sequence().space(), events[i])) {
      return within(element(i), mismatch);
    }
  }
  return kNoMismatch;
}

Mismatch checkUnion(const Checker& checker, const Space& space, const Event& event) {
  std::string reasons;
  for (const Space& alternative : space.space_union().space()) {
    const Mismatch mismatch = checker.findMismatch(alternative, event);
    if (!mismatch) return kNoMismatch;
    reasons += (reasons.empty() ? "" : "; ") + *mismatch;
  }
  return "in none of the spaces of the union (" + reasons + ")";
}

// The name of a type is the part of the type URL after the last slash.
std::string typeOf(const google::protobuf::Any& any) {
  return any.type_url().substr(any.type_url().rfind('/') + 1);
}

Mismatch checkAny(const Checker&, const Space& space, const Event& event) {
  CommandlineSpace commandline;
  if (space.any_value().UnpackTo(&commandline)) {
    return checkIndex(event, commandline.name_size());
  }
  if (!event.has_any_value()) return unexpectedKind("any_value", event);
  if (typeOf(event.any_value()) == typeOf(space.any_value())) return kNoMismatch;
  return "expected a value of type \"" + typeOf(space.any_value()) + "\", got \"" +
         typeOf(event.any_value()) + "\"";
}

// ---------------------------------------------------------------------------
// The table.

// Returns the predicate of a kind of space that accepts one kind of event. The pointers are to the
// generated accessors of both.
template <typename SpaceType, typename Value, typename Check>
Checker::Predicate predicate(const SpaceType& (Space::*spaceOf)() const,
                             Value (Event::*valueOf)() const, Event::ValueCase valueCase,
                             Check check) {
  return [=](const Checker&, const Space& space, const Event& event) {
    if (event.value_case() != valueCase) {
      return unexpectedKind(Event::descriptor()->FindFieldByNumber(valueCase)->name(), event);
    }
    return check((space.*spaceOf)(), (event.*valueOf)());
  };
}

constexpr auto kInRange = [](const auto& space, const auto& value) {
  return checkRange(space, value);
};
constexpr auto kSequence = [](const auto& space, const auto& tensor) {
  return checkSequence(space, tensor);
};
constexpr auto kVector = [](const auto& space, const auto& tensor) {
  return checkVector(tensor, space.length_range());
};
constexpr auto kBox = [](const auto& space, const auto& tensor) { return checkBox(space, tensor); };

void addCompoundSpaces(Checker::Context* context) {
  Checker::Context& table = *context;
  table["kSpaceList"] = checkList;
  table["kSpaceDict"] = checkDict;
  table["kSpaceSequence"] = checkSpaceSequence;
  table["kSpaceUnion"] = checkUnion;
  table["kAnyValue"] = checkAny;
}

void addScalars(Checker::Context* context) {
  Checker::Context& table = *context;
  table["kDiscrete"] = [](const Checker&, const Space& space, const Event& event) {
    return checkIndex(event, space.discrete().n());
  };
  table["kNamedDiscrete"] = [](const Checker&, const Space& space, const Event& event) {
    return checkIndex(event, space.named_discrete().name_size());
  };
  table["kBooleanValue"] =
      predicate(&Space::boolean_value, &Event::boolean_value, Event::kBooleanValue, kInRange);
  table["kInt64Value"] =
      predicate(&Space::int64_value, &Event::int64_value, Event::kInt64Value, kInRange);
  table["kFloatValue"] =
      predicate(&Space::float_value, &Event::float_value, Event::kFloatValue, kInRange);
  table["kDoubleValue"] =
      predicate(&Space::double_value, &Event::double_value, Event::kDoubleValue, kInRange);
  table["kStringValue"] = [](const Checker&, const Space& space, const Event& event) {
    if (!event.has_string_value()) return unexpectedKind("string_value", event);
    return checkLength(space.string_value().length_range(), event.string_value().size());
  };
}

void addSequences(Checker::Context* context) {
  Checker::Context& table = *context;
  table["kBooleanSequence"] =
      predicate(&Space::boolean_sequence, &Event::boolean_tensor, Event::kBooleanTensor, kSequence);
  table["kByteSequence"] =
      predicate(&Space::byte_sequence, &Event::byte_tensor, Event::kByteTensor, kSequence);
  table["kBytesSequence"] =
      predicate(&Space::bytes_sequence, &Event::byte_tensor, Event::kByteTensor, kVector);
  table["kInt64Sequence"] =
      predicate(&Space::int64_sequence, &Event::int64_tensor, Event::kInt64Tensor, kSequence);
  table["kFloatSequence"] =
      predicate(&Space::float_sequence, &Event::float_tensor, Event::kFloatTensor, kSequence);
  table["kDoubleSequence"] =
      predicate(&Space::double_sequence, &Event::double_tensor, Event::kDoubleTensor, kSequence);
  table["kStringSequence"] =
      predicate(&Space::string_sequence, &Event::string_tensor, Event::kStringTensor, kVector);
  table["permutation"] = checkPermutation;
}

void addBoxes(Checker::Context* context) {
  Checker::Context& table = *context;
  table["kBooleanBox"] =
      predicate(&Space::boolean_box, &Event::boolean_tensor, Event::kBooleanTensor, kBox);
  table["kByteBox"] = predicate(&Space::byte_box, &Event::byte_tensor, Event::kByteTensor, kBox);
  table["kInt64Box"] =
      predicate(&Space::int64_box, &Event::int64_tensor, Event::kInt64Tensor, kBox);
  table["kFloatBox"] =
      predicate(&Space::float_box, &Event::float_tensor, Event::kFloatTensor, kBox);
  table["kDoubleBox"] =
      predicate(&Space::double_box, &Event::double_tensor, Event::kDoubleTensor, kBox);
}

// Returns the key of a space's predicate in the table.
std::string keyOf(const Space& space) {
  if (space.has_type_id()) return space.type_id();
  std::string name = Space::descriptor()->FindFieldByNumber(space.value_case())->camelcase_name();
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return "k" + name;
}

}  // namespace

SpaceContainsEventChecker::SpaceContainsEventChecker(Context context)
    : context_(std::move(context)) {}

bool SpaceContainsEventChecker::contains(const Space& space, const Event& event,
                                         bool errorOnFalse) const {
  const Mismatch mismatch = findMismatch(space, event);
  if (mismatch && errorOnFalse) LOG(ERROR) << "The space does not contain the event: " << *mismatch;
  return !mismatch;
}

void SpaceContainsEventChecker::checkContains(const Space& space, const Event& event) const {
  const Mismatch mismatch = findMismatch(space, event);
  CHECK(!mismatch) << "The space does not contain the event: " << *mismatch;
}

Mismatch SpaceContainsEventChecker::findMismatch(const Space& space, const Event& event) const {
  if (!space.has_type_id() && space.value_case() == Space::VALUE_NOT_SET) {
    return "the space has no value";
  }
  const std::string key = keyOf(space);
  const auto found = context_.find(key);
  if (found == context_.end()) return "no predicate for spaces of type " + key + " is known";
  return found->second(*this, space, event);
}

SpaceContainsEventChecker makeDefaultSpaceContainsEventChecker() {
  SpaceContainsEventChecker::Context context;
  addCompoundSpaces(&context);
  addScalars(&context);
  addSequences(&context);
  addBoxes(&context);
  return SpaceContainsEventChecker(std::move(context));
}

}  // namespace compiler_gym
