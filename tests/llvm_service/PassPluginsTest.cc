// Plugins of `opt` as actions. The plugin is that of docs/guides/adding-a-pass.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "llvm_service/Compilation.h"
#include "llvm_service/actions/PassPlugins.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Observing.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::HasSubstr;

constexpr char kPipeline[] = "function(mul-to-shift)";

std::string plugin() { return testFile("tests/llvm_service/MulToShift.so"); }

std::string errorOf(const std::string& specification) {
  auto loaded = loadPlugins(specification);
  return loaded ? "" : llvm::toString(loaded.takeError());
}

TEST(PassPluginsTest, ErrorsNamePluginAndPass) {
  EXPECT_THAT(errorOf("/nonexistent/x.so"), HasSubstr("/nonexistent/x.so does not exist"));
  EXPECT_THAT(errorOf("/nonexistent/x.so:a"), HasSubstr("/nonexistent/x.so does not exist"));
  EXPECT_THAT(errorOf(plugin() + ":no-such-pass"), HasSubstr("no pass \"no-such-pass\""));
  const TemporaryDirectory directory;
  const std::string broken = (directory.path() / "broken.so").string();
  std::ofstream(broken) << "This is not a library";
  EXPECT_THAT(errorOf(broken), HasSubstr("cannot be loaded"));
  EXPECT_THAT(errorOf(plugin() + ";" + broken), HasSubstr("cannot be loaded"));
  // The plugin with the project's own passes does not list them.
  EXPECT_THAT(errorOf(ownPassesPlugin()), HasSubstr("does not tell its passes"));
}

class PassPluginsKernelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(PassPluginsKernelTest, EqualsOpt) {
  const auto plugins = llvm::cantFail(loadPlugins(plugin()));
  std::shared_ptr<const Program> program;
  ASSERT_THAT(Program::load(makeBenchmark(kernel(GetParam())), 64 << 20, program), IsOk());
  const TemporaryDirectory directory;
  std::unique_ptr<Compilation> compilation;
  ASSERT_THAT(Compilation::start(program, directory.path(), compilation, plugins), IsOk());
  const std::string before = (directory.path() / "before.bc").string();
  std::ofstream(before, std::ios::binary) << compilation->bitcode();
  EXPECT_TRUE(applyPass(*compilation, "function(sroa)"));
  EXPECT_TRUE(applyPass(*compilation, kPipeline));
  applyPass(*compilation, "function(gvn)");
  const std::string passes = std::string("module(function(sroa),") + kPipeline + ",function(gvn))";
  const std::string expected =
      runLlvmTool({"opt", "-discard-value-names", "-load-pass-plugin=" + plugin(),
                   "-passes=" + passes, before, "-o", "-"});
  EXPECT_TRUE(compilation->bitcode() == expected);
  // For which all actions are repeated, those of the plugin included.
  Event remarks;
  EXPECT_THAT(tryObserve(*compilation, "Remarks", remarks), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Kernel, PassPluginsKernelTest, ::testing::Values("json", "huffman"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace compiler_gym::llvm_service
