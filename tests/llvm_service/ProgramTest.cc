#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <boost/filesystem.hpp>
#include <fstream>

#include "llvm/TargetParser/Host.h"
#include "llvm_service/Ir.h"
#include "llvm_service/Program.h"
#include "llvm_service/passes/Levels.h"
#include "tests/Effort.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/TemporaryDirectory.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::Status;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kNoLimit = 64 << 20;
constexpr char kText[] = "define i32 @main() {\n  ret i32 0\n}\n";

Status load(const Benchmark& benchmark, std::shared_ptr<const Program>& program,
            size_t maxBytes = kNoLimit) {
  return Program::load(benchmark, maxBytes, program);
}

Status load(const std::string& contents) {
  std::shared_ptr<const Program> program;
  return load(makeBenchmark(contents), program);
}

std::shared_ptr<const Program> loaded(const std::string& contents) {
  std::shared_ptr<const Program> program;
  EXPECT_THAT(load(makeBenchmark(contents), program), IsOk());
  return program;
}

Benchmark benchmarkOfUri(const std::string& programUri) {
  Benchmark benchmark;
  benchmark.mutable_program()->set_uri(programUri);
  return benchmark;
}

Status loadUri(const std::string& programUri) {
  std::shared_ptr<const Program> program;
  return load(benchmarkOfUri(programUri), program);
}

std::string textOf(const Program& program) {
  OwnedModule owned;
  EXPECT_THAT(parseIr(program.bitcode(), owned), IsOk());
  return owned.module ? printIr(*owned.module) : "";
}

void writeFile(const boost::filesystem::path& path, const std::string& contents) {
  std::ofstream(path.string(), std::ios::binary) << contents;
}

TEST(ProgramTest, RefusesGarbage) {
  std::shared_ptr<const Program> program;
  EXPECT_THAT(load(Benchmark(), program), IsError(StatusCode::INVALID_ARGUMENT, "no program"));
  EXPECT_THAT(load(std::string()), IsError(StatusCode::INVALID_ARGUMENT, "empty"));
  for (const std::string& garbage :
       {std::string("not a program"), std::string("\0\1\2\3", 4), std::string("BC\xC0\xDE"),
        std::string("BC\xC0\xDE") + std::string(400, '\x5A'), std::string("\xDE\xC0\x17\x0B"),
        std::string(1000, '\xFF'), std::string(kText) + "garbage", std::string("\x7F") + "ELF"}) {
    EXPECT_THAT(load(garbage), IsError(StatusCode::INVALID_ARGUMENT, "Cannot parse the program"))
        << ::testing::PrintToString(garbage);
  }
  EXPECT_EQ(program, nullptr);
}

TEST(ProgramTest, RefusesInvalidModules) {
  // Parses, but the use comes before the definition.
  EXPECT_THAT(load("define i32 @f() {\n"
                   "  %1 = add i32 %2, 1\n"
                   "  %2 = add i32 1, 1\n"
                   "  ret i32 %2\n"
                   "}\n"),
              IsError(StatusCode::DATA_LOSS, "does not dominate"));
}

TEST(ProgramTest, RefusesLargePrograms) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "program.ll";
  writeFile(path, kText);
  const size_t size = std::string(kText).size();
  std::shared_ptr<const Program> program;
  for (const Benchmark& benchmark :
       {makeBenchmark(kText), benchmarkOfUri("file://" + path.string())}) {
    EXPECT_THAT(load(benchmark, program, size), IsOk());
    EXPECT_THAT(load(benchmark, program, size - 1),
                IsError(StatusCode::RESOURCE_EXHAUSTED, "--max_program_bytes"));
  }
}

TEST(ProgramTest, RefusesFilesThatCannotBeRead) {
  const TemporaryDirectory directory;
  const std::string missing = (directory.path() / "missing.bc").string();
  EXPECT_THAT(loadUri("file://" + missing), IsError(StatusCode::NOT_FOUND, missing));
  const auto empty = directory.path() / "empty.bc";
  writeFile(empty, "");
  EXPECT_THAT(loadUri("file://" + empty.string()), IsError(StatusCode::INVALID_ARGUMENT, "empty"));
  for (const char* uri :
       {"", "/program.bc", "file://", "file://program.bc", "http://host/program.bc",
        "benchmark://test-v0/program", "FILE:///program.bc"}) {
    EXPECT_THAT(loadUri(uri), IsError(StatusCode::INVALID_ARGUMENT, "file:///absolute/path"))
        << uri;
  }
}

// A pipe without anybody who writes to it would be waited for, and a device has no end.
TEST(ProgramTest, RefusesPipesDirectoriesAndDevices) {
  const TemporaryDirectory directory;
  const std::string pipe = (directory.path() / "pipe.bc").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, directory.path().string(), std::string("/dev/zero")}) {
    EXPECT_THAT(loadUri("file://" + path), IsError(StatusCode::INVALID_ARGUMENT, path));
  }
}

// The file takes no space on the disk, and would take all memory.
TEST(ProgramTest, LooksAtTheSizeOfAFileBeforeItReadsIt) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "large.bc";
  writeFile(path, "");
  boost::filesystem::resize_file(path, uintmax_t{1} << 40);
  std::shared_ptr<const Program> program;
  EXPECT_THAT(load(benchmarkOfUri("file://" + path.string()), program),
              IsError(StatusCode::RESOURCE_EXHAUSTED, std::to_string(uint64_t{1} << 40)));
}

TEST(ProgramTest, DropsNamesAndDebugInformation) {
  constexpr char kDescribed[] = R"(
source_filename = "secret.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
define i32 @main(i32 %argument) !dbg !4 {
entry_block:
  %named_value = add i32 %argument, 1, !dbg !7
    #dbg_value(i32 %named_value, !8, !DIExpression(), !7)
  ret i32 %named_value, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!llvm.ident = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "secret.c", directory: "/secret")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{!"secret compiler"}
!4 = distinct !DISubprogram(name: "main", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 2, scope: !4)
!8 = !DILocalVariable(name: "secret", scope: !4, file: !1, line: 2, type: !9)
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
)";
  const std::string text = textOf(*loaded(kDescribed));
  EXPECT_EQ(text,
            "; ModuleID = '-'\n"
            "source_filename = \"-\"\n"
            "target datalayout = "
            "\"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
            "target triple = \"x86_64-pc-linux-gnu\"\n"
            "\n"
            "define i32 @main(i32 %0) {\n"
            "  %2 = add i32 %0, 1\n"
            "  ret i32 %2\n"
            "}\n");
}

TEST(ProgramTest, KeepsWhichMemoryHasErrnoSinceLlvm23) {
  constexpr char kNamed[] = R"(
!llvm.ident = !{!0}
!llvm.errno.tbaa = !{!1}
!0 = !{!"secret compiler"}
!1 = !{!2, !2, i64 0}
!2 = !{!"int", !3, i64 0}
!3 = !{!"Simple C/C++ TBAA"}
)";
  const std::string text = textOf(*loaded(kNamed));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_EQ(text.find("!llvm.errno.tbaa = ") != std::string::npos, LLVM_VERSION_MAJOR >= 23);
}

TEST(ProgramTest, CompletesTheTarget) {
  const std::string host = llvm::sys::getDefaultTargetTriple();
  EXPECT_THAT(textOf(*loaded(kText)), AllOf(HasSubstr("target triple = \"" + host + "\""),
                                            HasSubstr("target datalayout = ")));
  EXPECT_THAT(textOf(*loaded("target triple = \"aarch64-unknown-linux-gnu\"\n")),
              AllOf(HasSubstr("target triple = \"aarch64-unknown-linux-gnu\""),
                    HasSubstr("target datalayout = ")));
  EXPECT_THAT(textOf(*loaded("target triple = \"nosuch-unknown-linux\"\n")),
              AllOf(HasSubstr("target triple = \"nosuch-unknown-linux\""),
                    Not(HasSubstr("target datalayout"))));
}

TEST(ProgramTest, KeepsMetadataThatPassesUse) {
  EXPECT_THAT(textOf(*loaded("define i32 @f(ptr %p) {\n"
                             "  %1 = load i32, ptr %p, !range !0\n"
                             "  ret i32 %1\n"
                             "}\n"
                             "!0 = !{i32 0, i32 10}\n")),
              HasSubstr("!range"));
}

TEST(ProgramTest, LoadingIsIdempotent) {
  for (const auto& [name, bitcode] : kernels()) {
    const auto once = loaded(bitcode);
    EXPECT_EQ(loaded(once->bitcode())->bitcode(), once->bitcode()) << name;
  }
}

// The bitcode that a baseline's cost is computed from.
std::string optimised(const Program& program, Baseline baseline) {
  std::string result;
  int64_t value = 0;
  const auto keep = [&](const std::string& bitcode, int64_t&) {
    result = bitcode;
    return Status::OK;
  };
  EXPECT_THAT(program.baselineCost(baseline, "keep", keep, value), IsOk());
  return result;
}

TEST(ProgramBaselineTest, EqualsWhatOptMakes) {
  const TemporaryDirectory directory;
  for (const std::string& name :
       sample<std::string>({"sha256", "sorting", "regex", "fft", "huffman"}, 2)) {
    const auto program = loaded(kernel(name));
    const std::string input = (directory.path() / name).string();
    writeFile(input, program->bitcode());
    EXPECT_EQ(optimised(*program, Baseline::kO0), program->bitcode());
    for (const auto& [baseline, pipeline] : {std::pair(Baseline::kO3, baselinePipeline("O3")),
                                             std::pair(Baseline::kOz, baselinePipeline("Oz"))}) {
      // Not EXPECT_EQ, which would print both modules.
      EXPECT_TRUE(
          optimised(*program, baseline) ==
          runLlvmTool({"opt", "-discard-value-names", "-load-pass-plugin=" + ownPassesPlugin(),
                       "-passes=" + pipeline, input, "-o", "-"}))
          << pipeline << " of " << name;
    }
  }
}

// Counts how often it is called. Its value tells the baselines apart.
struct CountingCost {
  std::atomic<int> calls{0};

  Program::Cost cost() {
    return [this](const std::string& bitcode, int64_t& value) {
      ++calls;
      value = static_cast<int64_t>(bitcode.size());
      return Status::OK;
    };
  }
};

// Loads a program as another run of the service would, which knows nothing but what is in the file.
std::shared_ptr<const Program> loadedInAnotherRun(const TemporaryDirectory& directory,
                                                  const std::string& contents,
                                                  const std::string& code = "this LLVM") {
  std::shared_ptr<const Program> program;
  EXPECT_THAT(
      Program::load(makeBenchmark(contents), kNoLimit, program, std::make_shared<SharedCosts>(),
                    std::make_shared<BaselineFile>(directory.path().string(), code)),
      IsOk());
  return program;
}

constexpr CostTraits kOfContentAlone{/*ofMachineCode=*/false, /*ofContentAlone=*/true};

TEST(ProgramBaselineTest, IsComputedAgainForAnother) {
  const TemporaryDirectory directory;
  CountingCost counting;
  const auto callsFor = [&](const std::shared_ptr<const Program>& program, const char* name) {
    const int before = counting.calls;
    int64_t value = 0;
    EXPECT_THAT(program->baselineCost(Baseline::kO0, name, counting.cost(), value, kOfContentAlone),
                IsOk());
    return counting.calls - before;
  };
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, kText), "size"), 1);
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, kText), "size"), 0);
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, kText), "cycles"), 1);
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, kText, "another LLVM"), "size"), 1);
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, kernel("sha256")), "size"), 1);
  std::shared_ptr<const Program> retargeted;
  ASSERT_THAT(loadedInAnotherRun(directory, kText)->forTarget("riscv64-linux-gnu", retargeted),
              IsOk());
  EXPECT_EQ(callsFor(retargeted, "size"), 1);
  // Another processor of the same target.
  std::string text = kText;
  text.replace(text.find(" {"), 2, " \"target-cpu\"=\"x86-64-v3\" {");
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, text), "size"), 1);
  EXPECT_EQ(callsFor(loadedInAnotherRun(directory, kText), "size"), 0);
}

TEST(ProgramBaselineTest, ErrorsAreNotKeptForOtherRuns) {
  const TemporaryDirectory directory;
  int64_t value = 0;
  const auto fail = [](const std::string&, int64_t& cost) {
    cost = 7;
    return Status(StatusCode::INTERNAL, "the disk is full");
  };
  EXPECT_THAT(loadedInAnotherRun(directory, kText)
                  ->baselineCost(Baseline::kOz, "size", fail, value, kOfContentAlone),
              IsError(StatusCode::INTERNAL, "the disk is full"));
  CountingCost counting;
  EXPECT_THAT(loadedInAnotherRun(directory, kText)
                  ->baselineCost(Baseline::kOz, "size", counting.cost(), value, kOfContentAlone),
              IsOk());
  EXPECT_EQ(counting.calls, 1);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
