#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::ElementsAre;

struct Packed {
  std::string structures;
  std::vector<std::string> lines;
  std::vector<int32_t> indices;
};

Packed unpack(const Event& event) {
  Packed packed;
  const auto& fields = event.event_dict().event();
  packed.structures = fields.at("structures").string_value();
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(fields.at("lines").string_value()).split(lines, '\n');
  EXPECT_EQ(lines.pop_back_val(), "");
  packed.lines.assign(lines.begin(), lines.end());
  const ByteTensor& indices = fields.at("indices").byte_tensor();
  EXPECT_EQ(indices.shape(0), indices.value().size());
  for (size_t i = 0; i < indices.value().size(); i += sizeof(int32_t)) {
    packed.indices.push_back(
        static_cast<int32_t>(llvm::support::endian::read32le(&indices.value()[i])));
  }
  return packed;
}

Packed packedOf(const std::string& ir) {
  const auto compilation = startCompilation(ir);
  return unpack(observe(*compilation, "Inst2vecPacked"));
}

TEST(Inst2vecPackedTest, InstructionsDifferByMoreThanNumbers) {
  const Packed packed = packedOf(R"(
    @g = global i32 0
    define i32 @f(i32 %first, i32 %second) {
      %a = add i32 %first, 1
      %b = add i32 %second, 1
      %c = add i32 %b, 2
      ret i32 %c
    }
    define void @h() {
      ret void
    })");
  EXPECT_EQ(packed.structures, "");
  EXPECT_THAT(packed.lines, ElementsAre("<%ID> = add i32 <%ID>, 1", "<%ID> = add i32 <%ID>, 2",
                                        "ret i32 <%ID>", "ret void"));
  EXPECT_THAT(packed.indices, ElementsAre(0, 0, 1, 2, 3));
}

TEST(Inst2vecPackedTest, InstructionsAreOnOneLine) {
  const Packed packed = packedOf(R"(
    define void @f(i32 %x) {
      switch i32 %x, label %b [
        i32 5, label %b
        i32 6, label %b
      ]
    b:
      unreachable
    })");
  EXPECT_THAT(packed.lines,
              ElementsAre("switch i32 <%ID>, label <%ID> [ i32 5, label <%ID> i32 6, label "
                          "<%ID> ]",
                          "unreachable"));
}

TEST(Inst2vecPackedTest, OnlyNumbersOfValuesAreReplaced) {
  const Packed packed = packedOf(R"(
    %struct.1a = type { i32, %inner }
    %inner = type { ptr }
    @"%7" = global i8 0
    define void @f(ptr %x) {
      %y = getelementptr %struct.1a, ptr %x, i32 1
      %z = load i8, ptr @"%7"
      call void asm "%2a %3.b %_ 100%", ""()
      ret void
    })");
  EXPECT_EQ(packed.structures, "%struct.1a = type { i32, %inner }\n%inner = type { ptr }\n");
  EXPECT_THAT(packed.lines,
              ElementsAre("<%ID> = getelementptr %struct.1a, ptr <%ID>, i32 1",
                          "<%ID> = load i8, ptr @\"<%ID>\", align 1",
                          "call void asm \"%2a <%ID>.b %_ 100%\", \"\"()", "ret void"));
}

TEST(Inst2vecPackedTest, NumbersStayIfStructuresHaveNumbers) {
  const Packed packed = packedOf(R"(
    %0 = type { i32 }
    define void @f() {
      %x = alloca %0
      ret void
    })");
  EXPECT_EQ(packed.structures, "%0 = type { i32 }\n");
  EXPECT_THAT(packed.lines, ElementsAre("%1 = alloca %0, align 8", "ret void"));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
