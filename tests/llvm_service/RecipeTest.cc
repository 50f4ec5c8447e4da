// The observation of docs/contributing/recipes.md, compiled from the text itself.
#include <gtest/gtest.h>

#include "llvm_service/observations/Observation.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {

// The declaration in a line of Observations.def.
Observations globalCount();

namespace {

int64_t globals(Compilation& compilation) {
  const RunCounts runCounts;
  Event event;
  EXPECT_THAT(globalCount().front().compute({compilation, runCounts}, event), IsOk());
  EXPECT_EQ(event.value_case(), Event::kInt64Value);
  return event.int64_value();
}

TEST(RecipeTest, CountsGlobals) {
  const auto two = startCompilation(
      "@a = global i32 0\n@b = internal global i32 1\n"
      "define i32 @main() {\n  ret i32 0\n}\n");
  EXPECT_EQ(globals(*two), 2);
  EXPECT_TRUE(applyPass(*two, "globaldce"));
  EXPECT_EQ(globals(*two), 1) << "The internal one is unused";
  EXPECT_GT(globals(*startCompilation(kernel("sha256"))), 0);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
