// The pass of docs/contributing/recipes.md, compiled from the text itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llvm/Passes/PassBuilder.h"
#include "llvm_service/Ir.h"
#include "llvm_service/passes/OwnPass.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Programs.h"

namespace compiler_gym::llvm_service {

// The declaration in a line of OwnPasses.def.
OwnPass subToAdd();

namespace {

using ::testing::HasSubstr;

// Runs the pass as the service and the plugin do: by its text.
void runOn(llvm::Module& module) {
  llvm::PassBuilder passBuilder;
  subToAdd().registerWith(passBuilder);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passBuilder.registerModuleAnalyses(modules);
  passBuilder.registerCGSCCAnalyses(components);
  passBuilder.registerFunctionAnalyses(functions);
  passBuilder.registerLoopAnalyses(loops);
  passBuilder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passManager;
  for (const std::string& pipeline : subToAdd().pipelines()) {
    llvm::cantFail(passBuilder.parsePassPipeline(passManager, pipeline));
  }
  passManager.run(module, modules);
}

TEST(PassRecipeTest, RewritesSubtractionsOfConstants) {
  OwnedModule owned;
  ASSERT_THAT(parseIr("define i32 @f(i32 %x, i32 %y) {\n  %a = sub i32 %x, 5\n"
                      "  %b = sub i32 %a, %y\n  ret i32 %b\n}\n",
                      owned),
              IsOk());
  runOn(*owned.module);
  EXPECT_THAT(verify(*owned.module), IsOk());
  EXPECT_THAT(printIr(*owned.module), HasSubstr("add i32 %0, -5"));
  EXPECT_THAT(printIr(*owned.module), HasSubstr("= sub i32")) << "Not a constant";
}

TEST(PassRecipeTest, KeepsKernelsValid) {
  for (const auto& [name, bitcode] : kernels()) {
    OwnedModule owned;
    ASSERT_THAT(parseIr(bitcode, owned), IsOk());
    runOn(*owned.module);
    EXPECT_THAT(verify(*owned.module), IsOk()) << name;
  }
}

}  // namespace
}  // namespace compiler_gym::llvm_service
