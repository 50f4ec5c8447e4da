#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

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

// Spaces that are used several times.
constexpr char kDiscrete[] = "discrete { n: 3 }";
constexpr char kInts[] =
    "int64_sequence { length_range { min: 1 max: 3 } scalar_range { min: 0 } }";
constexpr char kInt64Box[] =
    "int64_box { low { shape: [2, 2] value: [0, 1, 2, 3] } high { shape: [2, 2] value: [9, 9, 9, "
    "3] } }";
constexpr char kOpaque[] =
    "any_value { [type.googleapis.com/compiler_gym.Opaque] { format: 'json://' } }";

struct SpaceCase {
  const char* space;
  std::vector<const char*> accepted;
  std::vector<const char*> rejected;
};

void PrintTo(const SpaceCase& spaceCase, std::ostream* stream) { *stream << spaceCase.space; }

class SpaceTest : public ::testing::TestWithParam<SpaceCase> {};

TEST_P(SpaceTest, HasTheseEventsAndNotThose) {
  const auto checker = makeDefaultSpaceContainsEventChecker();
  const Space space = parse<Space>(GetParam().space);
  for (const char* event : GetParam().accepted) {
    EXPECT_EQ(checker.findMismatch(space, parse<Event>(event)), std::nullopt) << event;
  }
  for (const char* event : GetParam().rejected) {
    EXPECT_FALSE(checker.contains(space, parse<Event>(event))) << event;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SpaceTest,
    ::testing::ValuesIn<SpaceCase>({
        {kDiscrete,
         {"int64_value: 0", "int64_value: 2"},
         {"int64_value: -1", "int64_value: 3", "double_value: 1", ""}},
        {"named_discrete { name: 'a' name: 'b' }",
         {"int64_value: 0", "int64_value: 1"},
         {"int64_value: -1", "int64_value: 2", "string_value: 'a'"}},
        {"boolean_value {}", {"boolean_value: true"}, {"int64_value: 1"}},
        {"boolean_value { min: true }", {"boolean_value: true"}, {"boolean_value: false"}},
        {"int64_value { min: -2 max: 5 }",
         {"int64_value: -2", "int64_value: 5"},
         {"int64_value: -3", "int64_value: 6", "double_value: 0"}},
        {"int64_value {}", {"int64_value: -9223372036854775808"}, {}},
        {"float_value { min: 0 max: 1 }",
         {"float_value: 1"},
         {"float_value: -0.01", "float_value: 1.01", "double_value: 0.5"}},
        {"float_value {}", {"float_value: -inf"}, {"float_value: nan"}},
        {"double_value { min: -1 max: 1.5 }",
         {"double_value: -1"},
         {"double_value: -1.1", "double_value: 1.6", "float_value: 0.5"}},
        {"double_value { min: 0 }", {"double_value: inf"}, {"double_value: nan"}},
        {"string_value { length_range { min: 1 max: 3 } }",
         {"string_value: 'x'", "string_value: 'xyz'"},
         {"string_value: ''", "string_value: 'wxyz'", "string_value: '\\303\\251\\303\\251'",
          "int64_value: 1"}},
        {"string_value {}", {"string_value: ''"}, {}},
        {"boolean_value { max: false }", {}, {"boolean_value: true"}},
        {"boolean_sequence { length_range { max: 2 } scalar_range { min: true } }",
         {"boolean_tensor { shape: 2 value: [true, true] }"},
         {"boolean_tensor { shape: 2 value: [true, false] }",
          "boolean_tensor { shape: 3 value: [true, true, true] }",
          "int64_tensor { shape: 1 value: [1] }"}},
        {"byte_sequence { length_range { max: 3 } scalar_range { min: -1 max: 8 } }",
         {"byte_tensor { shape: 3 value: '\\377\\000\\010' }", "byte_tensor { shape: 0 }"},
         {"byte_tensor { shape: 1 value: '\\376' }", "byte_tensor { shape: 2 value: '\\000\\011' }",
          "byte_tensor { shape: 4 value: '\\000\\000\\000\\000' }", "string_value: ''"}},
        {"byte_sequence {}", {"byte_tensor { shape: 2 value: '\\200\\177' }"}, {}},
        {"bytes_sequence { length_range { min: 2 max: 2 } }",
         {"byte_tensor { shape: 2 value: '\\377\\000' }"},
         {"byte_tensor { shape: 1 value: 'x' }", "string_tensor { shape: 2 value: ['x', 'y'] }"}},
        {kInts,
         {"int64_tensor { shape: 2 value: [0, 7] }"},
         {"int64_tensor { shape: 0 }", "int64_tensor { shape: 4 value: [1, 2, 3, 4] }",
          "int64_tensor { shape: 2 value: [0, -1] }", "int64_tensor { shape: [1, 1] value: 1 }",
          "int64_tensor { value: 1 }", "int64_tensor { shape: 2 value: 1 }",
          "double_tensor { shape: 1 value: 1 }"}},
        {"float_sequence { scalar_range { max: 1 } }",
         {"float_tensor { shape: 2 value: [-inf, 1] }"},
         {"float_tensor { shape: 2 value: [0, 1.5] }", "double_tensor { shape: 1 value: 1 }"}},
        {"double_sequence { scalar_range { min: 0 } }",
         {"double_tensor { shape: 2 value: [0, inf] }"},
         {"double_tensor { shape: 2 value: [0, -0.5] }", "double_tensor { shape: 1 value: nan }",
          "float_tensor { shape: 1 value: 1 }"}},
        {"string_sequence { length_range { min: 1 max: 2 } }",
         {"string_tensor { shape: 2 value: ['', 'long text'] }"},
         {"string_tensor { shape: 3 value: ['a', 'b', 'c'] }", "string_value: 'a'"}},
        {"type_id: 'permutation' int64_sequence { length_range { min: 3 max: 3 } scalar_range { "
         "min: 5 max: 7 } }",
         {"int64_tensor { shape: 3 value: [6, 5, 7] }"},
         {"int64_tensor { shape: 3 value: [6, 5, 6] }",
          "int64_tensor { shape: 3 value: [6, 5, 8] }", "int64_tensor { shape: 2 value: [6, 5] }",
          "string_value: '567'"}},
        {"type_id: 'permutation' int64_sequence { length_range { max: 3 } scalar_range { min: 5 "
         "max: 7 } }",
         {},
         {"int64_tensor { shape: 3 value: [5, 6, 7] }"}},
        {"type_id: 'permutation' int64_sequence { length_range { min: 2 max: 2 } scalar_range { "
         "min: 5 max: 7 } }",
         {},
         {"int64_tensor { shape: 2 value: [5, 6] }"}},
        {"boolean_box { low { shape: 2 value: [false, true] } high { shape: 2 value: [true, true] "
         "} }",
         {"boolean_tensor { shape: 2 value: [false, true] }"},
         {"boolean_tensor { shape: 2 value: [false, false] }"}},
        {"byte_box { low { shape: 2 value: '\\200\\000' } high { shape: 2 value: '\\000a' } }",
         {"byte_tensor { shape: 2 value: '\\377a' }"},
         {"byte_tensor { shape: 2 value: '\\001a' }"}},
        {kInt64Box,
         {"int64_tensor { shape: [2, 2] value: [0, 1, 2, 3] }",
          "int64_tensor { shape: [2, 2] value: [9, 9, 9, 3] }"},
         {"int64_tensor { shape: [2, 2] value: [0, 1, 2, 4] }",
          "int64_tensor { shape: [2, 2] value: [-1, 1, 2, 3] }",
          "int64_tensor { shape: 4 value: [0, 1, 2, 3] }",
          "int64_tensor { shape: [2, 2] value: [0, 1, 2] }",
          "double_tensor { shape: [2, 2] value: [0, 1, 2, 3] }"}},
        {"float_box { low { shape: 1 value: 0 } high { shape: 1 value: inf } }",
         {"float_tensor { shape: 1 value: 3 }"},
         {"float_tensor { shape: 1 value: -3 }"}},
        {"double_box { low { shape: 1 value: 0 } high { shape: 1 value: 1 } }",
         {"double_tensor { shape: 1 value: 0.5 }"},
         {"double_tensor { shape: 1 value: 1.5 }"}},
        {"int64_box { low { shape: 0 } high { shape: 0 } }", {"int64_tensor { shape: 0 }"}, {}},
        {"int64_box { low { shape: 1 value: 0 } high { shape: 2 value: [1, 1] } }",
         {},
         {"int64_tensor { shape: 1 value: 0 }"}},
        {"int64_box { low { shape: [4294967296, 4294967296] } high { shape: [4294967296, "
         "4294967296] } }",
         {},
         {"int64_tensor { shape: [4294967296, 4294967296] }"}},
        {"float_box { low { shape: 1 value: -inf } high { shape: 1 value: inf } }",
         {},
         {"float_tensor { shape: 1 value: nan }"}},
        {"space_list { space { discrete { n: 2 } } space { boolean_value {} } }",
         {"event_list { event { int64_value: 1 } event { boolean_value: true } }"},
         {"event_list { event { int64_value: 1 } event { int64_value: 1 } }",
          "event_list { event { int64_value: 1 } }",
          "event_list { event { int64_value: 1 } event { boolean_value: true } event {} }",
          "int64_value: 1"}},
        {"space_list {}", {"event_list {}"}, {}},
        {"space_dict { space { key: 'a' value { discrete { n: 2 } } } space { key: 'b' value { "
         "boolean_value {} } } }",
         {"event_dict { event { key: 'b' value { boolean_value: true } } event { key: 'a' value { "
          "int64_value: 1 } } }"},
         {"event_dict { event { key: 'a' value { int64_value: 1 } } }",
          "event_dict { event { key: 'b' value { boolean_value: true } } event { key: 'a' value { "
          "int64_value: 1 } } event { key: 'c' value {} } }",
          "event_dict { event { key: 'b' value { boolean_value: true } } event { key: 'a' value { "
          "int64_value: 2 } } }",
          "event_list {}"}},
        {"space_union { space { discrete { n: 2 } } space { string_value {} } }",
         {"int64_value: 1", "string_value: 'x'"},
         {"int64_value: 2"}},
        {"space_sequence { length_range { min: 1 max: 2 } space { discrete { n: 2 } } }",
         {"event_list { event { int64_value: 1 } event { int64_value: 0 } }"},
         {"event_list { event { int64_value: 1 } event { int64_value: 2 } }", "event_list {}",
          "event_list { event { int64_value: 1 } event { int64_value: 0 } event { int64_value: 0 } "
          "}",
          "int64_value: 1"}},
        {"any_value { [type.googleapis.com/compiler_gym.CommandlineSpace] { name: 'x' name: 'y' } "
         "}",
         {"int64_value: 1"},
         {"int64_value: 2", "int64_value: -1", "string_value: 'x'"}},
        {kOpaque,
         {"any_value { [type.googleapis.com/compiler_gym.Opaque] { format: 'other' } }"},
         {"any_value { [type.googleapis.com/compiler_gym.Command] { argument: 'x' } }",
          "string_value: 'x'"}},
        {"space_union {}", {}, {"int64_value: 0"}},
        {"", {}, {"int64_value: 1"}},
        {"type_id: 'unheard-of' discrete { n: 2 }", {}, {"int64_value: 1"}},
    }));

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
