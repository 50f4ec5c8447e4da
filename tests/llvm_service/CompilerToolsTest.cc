// The passes that direct clang, without clang: so that sanitizers check them, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm_service/TargetMachine.h"
#include "llvm_service/costs/CodeGenerator.h"
#include "llvm_service/passes/CompilerTools.h"
#include "llvm_service/passes/FunctionSettings.h"
#include "llvm_service/passes/Loops.h"
#include "llvm_service/passes/OwnPass.h"

namespace compiler_gym::llvm_service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What a pipeline made of a module.
struct Outcome {
  std::string printed;
  std::string ir;
  std::vector<std::string> errors;
  bool isParsed = true;
};

class Machinery {
 public:
  explicit Machinery(const std::string& ir) : instrumentations_(context_, /*DebugLogging=*/false) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(ir, diagnostic, context_);
    EXPECT_NE(module_, nullptr) << diagnostic.getMessage().str();
    context_.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo* info, void* errors) {
          std::string text;
          llvm::raw_string_ostream stream(text);
          llvm::DiagnosticPrinterRawOStream printer(stream);
          info->print(printer);
          static_cast<std::vector<std::string>*>(errors)->push_back(stream.str());
        },
        &outcome_.errors);
    instrumentations_.registerCallbacks(callbacks_, &moduleAnalyses_);
    registerOwnPasses(builder_);
    registerCompilerTools(builder_);
    registerFunctionSettings(builder_);
    registerLoopTools(builder_);
    builder_.registerModuleAnalyses(moduleAnalyses_);
    builder_.registerCGSCCAnalyses(cgsccAnalyses_);
    builder_.registerFunctionAnalyses(functionAnalyses_);
    builder_.registerLoopAnalyses(loopAnalyses_);
    builder_.crossRegisterProxies(loopAnalyses_, functionAnalyses_, cgsccAnalyses_,
                                  moduleAnalyses_);
  }

  Outcome run(const std::string& pipeline) {
    llvm::ModulePassManager manager;
    if (llvm::Error error = builder_.parsePassPipeline(manager, pipeline)) {
      llvm::consumeError(std::move(error));
      outcome_.isParsed = false;
      return outcome_;
    }
    ::testing::internal::CaptureStdout();
    manager.run(*module_, moduleAnalyses_);
    llvm::outs().flush();
    outcome_.printed = ::testing::internal::GetCapturedStdout();
    llvm::raw_string_ostream stream(outcome_.ir);
    module_->print(stream, /*AAW=*/nullptr);
    stream.flush();
    return outcome_;
  }

  llvm::Module& module() { return *module_; }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::LoopAnalysisManager loopAnalyses_;
  llvm::FunctionAnalysisManager functionAnalyses_;
  llvm::CGSCCAnalysisManager cgsccAnalyses_;
  llvm::ModuleAnalysisManager moduleAnalyses_;
  llvm::PassInstrumentationCallbacks callbacks_;
  llvm::StandardInstrumentations instrumentations_;
  llvm::PassBuilder builder_{nullptr, llvm::PipelineTuningOptions(), std::nullopt, &callbacks_};
  Outcome outcome_;
};

Outcome run(const std::string& ir, const std::string& pipeline) {
  return Machinery(ir).run(pipeline);
}

constexpr char kCalls[] = R"(
define internal i32 @small(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}
define i32 @caller(i32 %x) {
  %a = call i32 @small(i32 %x)
  %b = call i32 @small(i32 %a)
  ret i32 %b
})";

constexpr char kLoop[] = R"(
declare void @use(i32)
define void @count(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  call void @use(i32 %i)
  %next = add nsw i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
})";

// Settings belong to the process, so each test has functions of other names.
std::string additions(const std::string& first, const std::string& second) {
  std::string text = "target triple = \"x86_64-pc-linux-gnu\"\n";
  for (const std::string& name : {first, second}) {
    text += "define i32 @" + name + "(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n";
  }
  return text;
}

TEST(CompilerToolsTest, CallsAreListedAndDecided) {
  const std::string listed = run(kCalls, "list-call-sites").printed;
  EXPECT_THAT(listed, AllOf(HasSubstr(R"("callee":"small")"), HasSubstr(R"("index":0)"),
                            HasSubstr(R"("index":1)")));
  const Outcome outcome = run(kCalls, "set-call-sites<0=inline;1=noinline>,always-inline");
  EXPECT_THAT(outcome.errors, IsEmpty());
  EXPECT_THAT(outcome.ir, AllOf(HasSubstr("call i32 @small(i32 %y"), HasSubstr("noinline")));
  EXPECT_THAT(outcome.ir, Not(HasSubstr("%a = call")));
}

TEST(CompilerToolsTest, Attributes) {
  const std::string ir = run(kCalls, "set-attribute<minsize>,set-attribute<a=b>").ir;
  EXPECT_THAT(ir, HasSubstr(R"(attributes #0 = { minsize "a"="b" })"));
}

TEST(CompilerToolsTest, LoopsAreListedAndGetHints) {
  EXPECT_THAT(run(kLoop, "list-loops").printed,
              AllOf(HasSubstr(R"("function":"count")"), HasSubstr(R"("innermost":true)")));
  const Outcome outcome = run(kLoop, "set-loops<0=unroll.count:4+vectorize.disable>");
  EXPECT_THAT(outcome.errors, IsEmpty());
  EXPECT_THAT(outcome.ir, AllOf(HasSubstr(R"(!"llvm.loop.unroll.count", i32 4})"),
                                HasSubstr(R"(!"llvm.loop.vectorize.enable", i1 false})")));
}

TEST(CompilerToolsTest, PassesAreSkippedByFunction) {
  const std::string ir = additions("skipping", "other");
  EXPECT_THAT(run(ir, "list-functions").printed,
              AllOf(HasSubstr(R"("name":"skipping")"), HasSubstr(R"("name":"other")")));
  const Outcome outcome = run(ir, "set-functions<0=instcombine>,function(instcombine)");
  EXPECT_THAT(outcome.errors, IsEmpty());
  EXPECT_THAT(outcome.ir.substr(0, outcome.ir.find("@other")), HasSubstr("add i32"));
  EXPECT_THAT(outcome.ir.substr(outcome.ir.find("@other")), Not(HasSubstr("add i32")));
}

TEST(CompilerToolsTest, OptionsAreSetByFunctionDownToTheCodeGenerator) {
  Machinery machinery(additions("tuned", "rest"));
  const Outcome outcome = machinery.run(
      "set-functions<*=-enable-load-pre=0;0:1=-enable-load-pre=1+frame-pointer=all+branch-folder>,"
      "function(gvn,instcombine)");
  EXPECT_THAT(outcome.errors, IsEmpty());
  EXPECT_THAT(outcome.ir, HasSubstr(R"("frame-pointer"="all")"));
  llvm::Module& module = machinery.module();
  module.setDataLayout(
      createTargetMachine(module, llvm::CodeGenOptLevel::None)->createDataLayout());
  std::unique_ptr<CodeGenerator> generator;
  ASSERT_TRUE(CodeGenerator::make(module, generator).ok());
  EXPECT_FALSE(generator->run(module).empty());
}

TEST(CompilerToolsTest, ErrorsAreReported) {
  const std::string functions = additions("wrong", "right");
  const auto expect = [](const std::string& ir, const char* pipeline, const char* words) {
    EXPECT_THAT(run(ir, pipeline).errors, ElementsAre(HasSubstr(words))) << pipeline;
  };
  expect(functions, "set-functions<0=-no-such-option>", "option -no-such-option");
  expect(functions, "set-functions<*=-no-such-option>", "option -no-such-option");
  expect(functions, "set-functions<9=gvn>", "function 9");
  expect(kCalls, "set-call-sites<9=inline>", "call 9");
  expect(kLoop, "set-loops<9=unroll.full>", "loop 9");
}

TEST(CompilerToolsTest, MalformedParametersAreRefused) {
  for (const char* settings : {"", ";", "0", "0=", "=gvn", "x=gvn", "-1=gvn", "0:=gvn", "0=gvn;",
                               "0=gvn+", "**=gvn", "99999999999999999999=gvn", "*=gvn"}) {
    EXPECT_FALSE(run(kCalls, "set-functions<" + std::string(settings) + ">").isParsed) << settings;
  }
  for (const char* pipeline :
       {"set-call-sites<0=keep>", "set-call-sites<*=inline>", "set-loops<0=other>",
        "set-loops<*=unroll.full>", "set-attribute<nonsense>", "list-functions<1>"}) {
    EXPECT_FALSE(run(kCalls, pipeline).isParsed) << pipeline;
  }
}

// The last one, since it lasts as long as the process.
TEST(CompilerToolsTest, TheRestIsSkipped) {
  const Outcome outcome = run(additions("early", "late"), "skip-rest,function(instcombine)");
  EXPECT_THAT(outcome.ir, HasSubstr("add i32"));
}

}  // namespace
}  // namespace compiler_gym::llvm_service
