#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm_service/Reproducer.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::HasSubstr;

class ReproducerTest : public ::testing::Test {
 protected:
  // Saves what an action does to the present program.
  void save(const std::string& pipeline) {
    ASSERT_THAT(writeReproducer(*compilation_, actionOf(pipeline), directory_.path()), IsOk());
  }

  std::string file(const char* name) const { return readFile((directory_.path() / name).string()); }

  const TemporaryDirectory directory_;
  const std::unique_ptr<Compilation> compilation_ = startCompilation(kernel("sha256"));
};

TEST_F(ReproducerTest, HasTheProgramBeforeTheActionAndAtTheStart) {
  ASSERT_TRUE(applyPass(*compilation_, "function(sroa)"));
  save("globaldce");
  EXPECT_TRUE(file("before.bc") == compilation_->bitcode());
  EXPECT_TRUE(file("start.bc") == compilation_->program().bitcode());
}

TEST_F(ReproducerTest, CommandsHaveTheOptionsOnceAndNothingOfActionsThatDoNothing) {
  const Action own = {"own", "function(sroa)", /*description=*/"", {"-load-pass-plugin=/x.so"}};
  bool changed = false;
  ASSERT_THAT(compilation_->apply(own, changed), IsOk());
  applyPass(*compilation_, "");
  ASSERT_THAT(compilation_->apply(own, changed), IsOk());
  save("globaldce");
  EXPECT_THAT(file("run.sh"),
              HasSubstr("\n\"$opt\" -discard-value-names -passes='module(globaldce)' before.bc "
                        "-o /dev/null\n"
                        "\"$opt\" -discard-value-names '-load-pass-plugin=/x.so' "
                        "-passes='module(function(sroa),function(sroa),globaldce)' start.bc "
                        "-o /dev/null\n"));
}

TEST_F(ReproducerTest, OfAnActionThatDoesNothing) {
  save("");
  EXPECT_THAT(file("run.sh"), HasSubstr("\n\"$opt\" -discard-value-names before.bc -o /dev/null\n"
                                        "\"$opt\" -discard-value-names start.bc -o /dev/null\n"));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
