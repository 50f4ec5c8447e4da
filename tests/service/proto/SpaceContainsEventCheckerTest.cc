#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler_gym/service/proto/SpaceContainsEventChecker.h"

namespace compiler_gym {
namespace {

using ::testing::HasSubstr;

template <typename Message>
Message parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// A space, and an event that is in it or is not.
struct Case {
  const char* name;
  const char* space;
  const char* event;
};

void PrintTo(const Case& testCase, std::ostream* stream) { *stream << testCase.name; }

std::string nameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

class Accepts : public ::testing::TestWithParam<Case> {};
class Rejects : public ::testing::TestWithParam<Case> {};

TEST_P(Accepts, Event) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  const auto mismatch =
      checker.findMismatch(parse<Space>(GetParam().space), parse<Event>(GetParam().event));
  EXPECT_EQ(mismatch, std::nullopt) << *mismatch;
}

TEST_P(Rejects, Event) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  EXPECT_FALSE(checker.contains(parse<Space>(GetParam().space), parse<Event>(GetParam().event)));
}

// Spaces that are used several times.
constexpr char kDiscrete[] = "discrete { n: 3 }";
constexpr char kNamed[] = "named_discrete { name: 'a' name: 'b' }";
constexpr char kInt64[] = "int64_value { min: -2 max: 5 }";
constexpr char kDouble[] = "double_value { min: -1 max: 1.5 }";
constexpr char kFloat[] = "float_value { min: 0 max: 1 }";
constexpr char kString[] = "string_value { length_range { min: 1 max: 3 } }";
constexpr char kBytes[] =
    "byte_sequence { length_range { max: 3 } scalar_range { min: -1 max: 8 } }";
constexpr char kInts[] =
    "int64_sequence { length_range { min: 1 max: 3 } scalar_range { min: 0 } }";
constexpr char kPermutation[] =
    "type_id: 'permutation' int64_sequence { length_range { min: 3 max: 3 } "
    "scalar_range { min: 5 max: 7 } }";
constexpr char kInt64Box[] =
    "int64_box { low { shape: [2, 2] value: [0, 1, 2, 3] } "
    "high { shape: [2, 2] value: [9, 9, 9, 3] } }";
constexpr char kList[] = "space_list { space { discrete { n: 2 } } space { boolean_value {} } }";
constexpr char kDict[] =
    "space_dict { space { key: 'a' value { discrete { n: 2 } } } "
    "space { key: 'b' value { boolean_value {} } } }";
constexpr char kUnion[] = "space_union { space { discrete { n: 2 } } space { string_value {} } }";
constexpr char kSequence[] =
    "space_sequence { length_range { min: 1 max: 2 } space { discrete { n: 2 } } }";
constexpr char kCommandline[] =
    "any_value { [type.googleapis.com/compiler_gym.CommandlineSpace] { name: 'x' name: 'y' } }";
constexpr char kOpaque[] =
    "any_value { [type.googleapis.com/compiler_gym.Opaque] { format: 'json://' } }";

INSTANTIATE_TEST_SUITE_P(Scalars, Accepts,
                         ::testing::ValuesIn<Case>({
                             {"DiscreteFirst", kDiscrete, "int64_value: 0"},
                             {"DiscreteLast", kDiscrete, "int64_value: 2"},
                             {"NamedFirst", kNamed, "int64_value: 0"},
                             {"NamedLast", kNamed, "int64_value: 1"},
                             {"BooleanUnbounded", "boolean_value {}", "boolean_value: true"},
                             {"BooleanInRange", "boolean_value { min: true }",
                              "boolean_value: true"},
                             {"Int64Min", kInt64, "int64_value: -2"},
                             {"Int64Max", kInt64, "int64_value: 5"},
                             {"Int64Lowest", "int64_value {}", "int64_value: -9223372036854775808"},
                             {"FloatMax", kFloat, "float_value: 1"},
                             {"FloatInfinite", "float_value {}", "float_value: -inf"},
                             {"DoubleMin", kDouble, "double_value: -1"},
                             {"DoubleInfinite", "double_value { min: 0 }", "double_value: inf"},
                             {"StringShortest", kString, "string_value: 'x'"},
                             {"StringLongest", kString, "string_value: 'xyz'"},
                             {"StringUnbounded", "string_value {}", "string_value: ''"},
                         }),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(
    Scalars, Rejects,
    ::testing::ValuesIn<Case>({
        {"DiscreteNegative", kDiscrete, "int64_value: -1"},
        {"DiscreteTooLarge", kDiscrete, "int64_value: 3"},
        {"DiscreteOtherKind", kDiscrete, "double_value: 1"},
        {"DiscreteNothing", kDiscrete, ""},
        {"NamedNegative", kNamed, "int64_value: -1"},
        {"NamedTooLarge", kNamed, "int64_value: 2"},
        {"NamedByName", kNamed, "string_value: 'a'"},
        {"BooleanTooSmall", "boolean_value { min: true }", "boolean_value: false"},
        {"BooleanTooLarge", "boolean_value { max: false }", "boolean_value: true"},
        {"BooleanOtherKind", "boolean_value {}", "int64_value: 1"},
        {"Int64TooSmall", kInt64, "int64_value: -3"},
        {"Int64TooLarge", kInt64, "int64_value: 6"},
        {"Int64OtherKind", kInt64, "double_value: 0"},
        {"FloatTooSmall", kFloat, "float_value: -0.01"},
        {"FloatTooLarge", kFloat, "float_value: 1.01"},
        {"FloatNan", "float_value {}", "float_value: nan"},
        {"FloatOtherKind", kFloat, "double_value: 0.5"},
        {"DoubleTooSmall", kDouble, "double_value: -1.1"},
        {"DoubleTooLarge", kDouble, "double_value: 1.6"},
        {"DoubleNan", "double_value {}", "double_value: nan"},
        {"DoubleOtherKind", kDouble, "float_value: 0.5"},
        {"StringTooShort", kString, "string_value: ''"},
        {"StringTooLong", kString, "string_value: 'wxyz'"},
        // Two characters, four bytes.
        {"StringTooLongInBytes", kString, "string_value: '\\303\\251\\303\\251'"},
        {"StringOtherKind", kString, "int64_value: 1"},
    }),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Sequences, Accepts,
    ::testing::ValuesIn<Case>({
        {"Booleans", "boolean_sequence { scalar_range { min: true } }",
         "boolean_tensor { shape: 2 value: [true, true] }"},
        {"BytesWithinRange", kBytes, "byte_tensor { shape: 3 value: '\\377\\000\\010' }"},
        {"BytesEmpty", kBytes, "byte_tensor { shape: 0 }"},
        {"BytesUnbounded", "byte_sequence {}", "byte_tensor { shape: 2 value: '\\200\\177' }"},
        {"BytesSequence", "bytes_sequence { length_range { min: 2 max: 2 } }",
         "byte_tensor { shape: 2 value: '\\377\\000' }"},
        {"Int64s", kInts, "int64_tensor { shape: 2 value: [0, 7] }"},
        {"Floats", "float_sequence { scalar_range { max: 1 } }",
         "float_tensor { shape: 2 value: [-inf, 1] }"},
        {"Doubles", "double_sequence { scalar_range { min: 0 } }",
         "double_tensor { shape: 2 value: [0, inf] }"},
        {"Strings", "string_sequence { length_range { min: 1 max: 2 } }",
         "string_tensor { shape: 2 value: ['', 'long text'] }"},
        {"Permutation", kPermutation, "int64_tensor { shape: 3 value: [6, 5, 7] }"},
    }),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Sequences, Rejects,
    ::testing::ValuesIn<Case>({
        {"BooleansOutOfRange", "boolean_sequence { scalar_range { min: true } }",
         "boolean_tensor { shape: 2 value: [true, false] }"},
        {"BooleansTooLong", "boolean_sequence { length_range { max: 1 } }",
         "boolean_tensor { shape: 2 value: [true, false] }"},
        {"BooleansOtherKind", "boolean_sequence {}", "int64_tensor { shape: 1 value: [1] }"},
        {"BytesTooSmall", kBytes, "byte_tensor { shape: 1 value: '\\376' }"},
        {"BytesTooLarge", kBytes, "byte_tensor { shape: 2 value: '\\000\\011' }"},
        {"BytesTooLong", kBytes, "byte_tensor { shape: 4 value: '\\000\\000\\000\\000' }"},
        {"BytesOtherKind", kBytes, "string_value: ''"},
        {"BytesSequenceTooShort", "bytes_sequence { length_range { min: 2 } }",
         "byte_tensor { shape: 1 value: 'x' }"},
        {"BytesSequenceOtherKind", "bytes_sequence {}", "string_tensor { shape: 1 value: 'x' }"},
        {"Int64sTooShort", kInts, "int64_tensor { shape: 0 }"},
        {"Int64sTooLong", kInts, "int64_tensor { shape: 4 value: [1, 2, 3, 4] }"},
        {"Int64sSecondTooSmall", kInts, "int64_tensor { shape: 2 value: [0, -1] }"},
        {"Int64sTwoDimensions", kInts, "int64_tensor { shape: [1, 1] value: 1 }"},
        {"Int64sNoShape", kInts, "int64_tensor { value: 1 }"},
        {"Int64sWrongShape", kInts, "int64_tensor { shape: 2 value: 1 }"},
        {"Int64sOtherKind", kInts, "double_tensor { shape: 1 value: 1 }"},
        {"FloatsTooLarge", "float_sequence { scalar_range { max: 1 } }",
         "float_tensor { shape: 2 value: [0, 1.5] }"},
        {"FloatsOtherKind", "float_sequence {}", "double_tensor { shape: 1 value: 1 }"},
        {"DoublesTooSmall", "double_sequence { scalar_range { min: 0 } }",
         "double_tensor { shape: 2 value: [0, -0.5] }"},
        {"DoublesNan", "double_sequence {}", "double_tensor { shape: 1 value: nan }"},
        {"DoublesOtherKind", "double_sequence {}", "float_tensor { shape: 1 value: 1 }"},
        {"StringsTooMany", "string_sequence { length_range { max: 1 } }",
         "string_tensor { shape: 2 value: ['a', 'b'] }"},
        {"StringsOtherKind", "string_sequence {}", "string_value: 'a'"},
        {"PermutationRepeats", kPermutation, "int64_tensor { shape: 3 value: [6, 5, 6] }"},
        {"PermutationOutOfRange", kPermutation, "int64_tensor { shape: 3 value: [6, 5, 8] }"},
        {"PermutationTooShort", kPermutation, "int64_tensor { shape: 2 value: [6, 5] }"},
        {"PermutationOtherKind", kPermutation, "string_value: '567'"},
        {"PermutationOfVaryingLength",
         "type_id: 'permutation' int64_sequence { length_range { max: 3 } "
         "scalar_range { min: 5 max: 7 } }",
         "int64_tensor { shape: 3 value: [5, 6, 7] }"},
        {"PermutationOfOtherLength",
         "type_id: 'permutation' int64_sequence { length_range { min: 2 max: 2 } "
         "scalar_range { min: 5 max: 7 } }",
         "int64_tensor { shape: 2 value: [5, 6] }"},
    }),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Boxes, Accepts,
    ::testing::ValuesIn<Case>({
        {"Boolean",
         "boolean_box { low { shape: 2 value: [false, true] } high { shape: 2 value: [true, true] "
         "} }",
         "boolean_tensor { shape: 2 value: [false, true] }"},
        {"Byte",
         "byte_box { low { shape: 2 value: '\\200\\000' } high { shape: 2 value: '\\000a' } }",
         "byte_tensor { shape: 2 value: '\\377a' }"},
        {"Int64Low", kInt64Box, "int64_tensor { shape: [2, 2] value: [0, 1, 2, 3] }"},
        {"Int64High", kInt64Box, "int64_tensor { shape: [2, 2] value: [9, 9, 9, 3] }"},
        {"Float", "float_box { low { shape: 1 value: 0 } high { shape: 1 value: inf } }",
         "float_tensor { shape: 1 value: 3 }"},
        {"Double", "double_box { low { shape: 1 value: 0 } high { shape: 1 value: 1 } }",
         "double_tensor { shape: 1 value: 0.5 }"},
        {"Empty", "int64_box { low { shape: 0 } high { shape: 0 } }", "int64_tensor { shape: 0 }"},
    }),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Boxes, Rejects,
    ::testing::ValuesIn<Case>({
        {"BooleanOutOfRange",
         "boolean_box { low { shape: 2 value: [false, true] } high { shape: 2 value: [true, true] "
         "} }",
         "boolean_tensor { shape: 2 value: [false, false] }"},
        {"ByteTooLarge",
         "byte_box { low { shape: 2 value: '\\200\\000' } high { shape: 2 value: '\\000a' } }",
         "byte_tensor { shape: 2 value: '\\001a' }"},
        {"Int64LastTooLarge", kInt64Box, "int64_tensor { shape: [2, 2] value: [0, 1, 2, 4] }"},
        {"Int64FirstTooSmall", kInt64Box, "int64_tensor { shape: [2, 2] value: [-1, 1, 2, 3] }"},
        {"Int64OtherShape", kInt64Box, "int64_tensor { shape: 4 value: [0, 1, 2, 3] }"},
        {"Int64MissingValues", kInt64Box, "int64_tensor { shape: [2, 2] value: [0, 1, 2] }"},
        {"Int64OtherKind", kInt64Box, "double_tensor { shape: [2, 2] value: [0, 1, 2, 3] }"},
        {"Int64BoundsDiffer",
         "int64_box { low { shape: 1 value: 0 } high { shape: 2 value: [1, 1] } }",
         "int64_tensor { shape: 1 value: 0 }"},
        {"Int64BoundsOverflow",
         "int64_box { low { shape: [4294967296, 4294967296] } "
         "high { shape: [4294967296, 4294967296] } }",
         "int64_tensor { shape: [4294967296, 4294967296] }"},
        {"FloatNan", "float_box { low { shape: 1 value: -inf } high { shape: 1 value: inf } }",
         "float_tensor { shape: 1 value: nan }"},
        {"FloatTooSmall", "float_box { low { shape: 1 value: 0 } high { shape: 1 value: inf } }",
         "float_tensor { shape: 1 value: -3 }"},
        {"DoubleTooLarge", "double_box { low { shape: 1 value: 0 } high { shape: 1 value: 1 } }",
         "double_tensor { shape: 1 value: 1.5 }"},
    }),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Compound, Accepts,
    ::testing::ValuesIn<Case>({
        {"List", kList, "event_list { event { int64_value: 1 } event { boolean_value: true } }"},
        {"ListEmpty", "space_list {}", "event_list {}"},
        {"Dict", kDict,
         "event_dict { event { key: 'b' value { boolean_value: true } } "
         "event { key: 'a' value { int64_value: 1 } } }"},
        {"UnionFirst", kUnion, "int64_value: 1"},
        {"UnionSecond", kUnion, "string_value: 'x'"},
        {"Sequence", kSequence, "event_list { event { int64_value: 1 } event { int64_value: 0 } }"},
        {"Commandline", kCommandline, "int64_value: 1"},
        {"Any", kOpaque,
         "any_value { [type.googleapis.com/compiler_gym.Opaque] { format: 'other' } }"},
    }),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Compound, Rejects,
    ::testing::ValuesIn<Case>({
        {"ListSecondDiffers", kList,
         "event_list { event { int64_value: 1 } event { int64_value: 1 } }"},
        {"ListTooShort", kList, "event_list { event { int64_value: 1 } }"},
        {"ListTooLong", kList,
         "event_list { event { int64_value: 1 } event { boolean_value: true } event {} }"},
        {"ListOtherKind", kList, "int64_value: 1"},
        {"DictMissingKey", kDict, "event_dict { event { key: 'a' value { int64_value: 1 } } }"},
        {"DictExtraKey", kDict,
         "event_dict { event { key: 'b' value { boolean_value: true } } "
         "event { key: 'a' value { int64_value: 1 } } event { key: 'c' value {} } }"},
        {"DictValueOutOfRange", kDict,
         "event_dict { event { key: 'b' value { boolean_value: true } } "
         "event { key: 'a' value { int64_value: 2 } } }"},
        {"DictOtherKind", kDict, "event_list {}"},
        {"UnionNeither", kUnion, "int64_value: 2"},
        {"UnionEmpty", "space_union {}", "int64_value: 0"},
        {"SequenceSecondOutOfRange", kSequence,
         "event_list { event { int64_value: 1 } event { int64_value: 2 } }"},
        {"SequenceTooShort", kSequence, "event_list {}"},
        {"SequenceTooLong", kSequence,
         "event_list { event { int64_value: 1 } event { int64_value: 0 } event { int64_value: 0 } "
         "}"},
        {"SequenceOtherKind", kSequence, "int64_value: 1"},
        {"CommandlineTooLarge", kCommandline, "int64_value: 2"},
        {"CommandlineNegative", kCommandline, "int64_value: -1"},
        {"CommandlineOtherKind", kCommandline, "string_value: 'x'"},
        {"AnyOtherType", kOpaque,
         "any_value { [type.googleapis.com/compiler_gym.Command] { argument: 'x' } }"},
        {"AnyOtherKind", kOpaque, "string_value: 'x'"},
        {"SpaceWithoutValue", "", "int64_value: 1"},
        {"UnknownTypeId", "type_id: 'unheard-of' discrete { n: 2 }", "int64_value: 1"},
    }),
    nameOf);

TEST(SpaceContainsEventChecker, TypeUrlsAreComparedByTypeName) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  const Space space = parse<Space>(kOpaque);
  Event event;
  event.mutable_any_value()->set_type_url("example.com/types/compiler_gym.Opaque");
  EXPECT_TRUE(checker.contains(space, event));
  event.mutable_any_value()->set_type_url("type.googleapis.com/not_compiler_gym.Opaque");
  EXPECT_FALSE(checker.contains(space, event));
}

TEST(SpaceContainsEventChecker, ContextTakesNewTypeIds) {
  auto checker = makeDefaultSpaceContainsEventChecker();
  checker.context()["even"] = [](const SpaceContainsEventChecker&, const Space&,
                                 const Event& event) -> SpaceContainsEventChecker::Mismatch {
    if (event.int64_value() % 2 == 0) return std::nullopt;
    return "odd";
  };
  const Space even = parse<Space>("type_id: 'even' int64_value {}");
  EXPECT_TRUE(checker.contains(even, parse<Event>("int64_value: 4")));
  EXPECT_EQ(checker.findMismatch(even, parse<Event>("int64_value: 3")), "odd");

  // Also as an element.
  Space list;
  *list.mutable_space_list()->add_space() = even;
  EXPECT_EQ(checker.findMismatch(list, parse<Event>("event_list { event { int64_value: 3 } }")),
            "element 0: odd");
}

TEST(SpaceContainsEventChecker, ReasonNamesPlaceValueAndRange) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  EXPECT_EQ(checker.findMismatch(parse<Space>(kInts),
                                 parse<Event>("int64_tensor { shape: 2 value: [0, -1] }")),
            "element 1: -1 is not in range [0, 9223372036854775807]");
  EXPECT_EQ(checker.findMismatch(parse<Space>(kDiscrete), parse<Event>("double_value: 1")),
            "expected int64_value, got double_value");
  EXPECT_EQ(
      checker.findMismatch(parse<Space>(kInt64Box), parse<Event>("int64_tensor { shape: 4 }")),
      "expected shape [2, 2], got [4]");
}

TEST(SpaceContainsEventChecker, ErrorOnFalseLogsTheReason) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(checker.contains(parse<Space>(kDiscrete), parse<Event>("int64_value: 3"), true));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("3 is not in range [0, 3)"));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(checker.contains(parse<Space>(kDiscrete), parse<Event>("int64_value: 3")));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(SpaceContainsEventCheckerDeathTest, CheckContainsEndsTheProcess) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  checker.checkContains(parse<Space>(kDiscrete), parse<Event>("int64_value: 2"));
  EXPECT_DEATH(checker.checkContains(parse<Space>(kDiscrete), parse<Event>("int64_value: 3")),
               "3 is not in range");
}

}  // namespace
}  // namespace compiler_gym
