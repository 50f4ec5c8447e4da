#include "tests/llvm_service/Counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "tests/llvm_service/Observing.h"

namespace compiler_gym::llvm_service {

namespace {

// The elements of a case that are not zero.
std::map<std::string, int64_t> countsOf(const CountsCase& example) {
  std::map<std::string, int64_t> counts;
  for (const std::string& word : words(example.expected)) {
    const size_t end = word.find('=');
    counts[word.substr(0, end)] = end == std::string::npos ? 1 : std::stoll(word.substr(end + 1));
  }
  return counts;
}

}  // namespace

std::string functionOf(const std::string& body) {
  return "define void @f(i1 %c, i8 %byte, i32 %a, i32 %b, i64 %l, ptr %p, float %x, double %d,\n"
         "               <2 x i32> %v, { i32, float } %s) {\n" +
         body + "}\n";
}

const std::vector<InstructionExample> kInstructions = {
    {"FNeg", "%1 = fneg float %x", "testUnary"},
    {"Add", "%1 = add i32 %a, %b", "NumAddInst"},
    {"FAdd", "%1 = fadd float %x, %x", ""},
    {"Sub", "%1 = sub i32 %a, %b", "NumSubInst"},
    {"FSub", "%1 = fsub float %x, %x", ""},
    {"Mul", "%1 = mul i32 %a, %b", "NumMulInst"},
    {"FMul", "%1 = fmul float %x, %x", ""},
    {"UDiv", "%1 = udiv i32 %a, %b", ""},
    {"SDiv", "%1 = sdiv i32 %a, %b", ""},
    {"FDiv", "%1 = fdiv float %x, %x", ""},
    {"URem", "%1 = urem i32 %a, %b", ""},
    {"SRem", "%1 = srem i32 %a, %b", ""},
    {"FRem", "%1 = frem float %x, %x", ""},
    {"Shl", "%1 = shl i32 %a, %b", "NumShlInst"},
    {"LShr", "%1 = lshr i32 %a, %b", "NumLShrInst"},
    {"AShr", "%1 = ashr i32 %a, %b", "NumAShrInst"},
    {"And", "%1 = and i32 %a, %b", "NumAndInst"},
    {"Or", "%1 = or i32 %a, %b", "NumOrInst"},
    {"Xor", "%1 = xor i32 %a, %b", "NumXorInst"},
    {"ICmp", "%1 = icmp eq i32 %a, %b", "NumICmpInst"},
    {"FCmp", "%1 = fcmp oeq float %x, %x", ""},
    {"Select", "%1 = select i1 %c, i32 %a, i32 %b", "NumSelectInst"},
    {"Freeze", "%1 = freeze i32 %a", "testUnary"},
    {"Alloca", "%1 = alloca i32", "NumAllocaInst TotalMemInst testUnary const32Bit numConstOnes"},
    {"Load", "%1 = load i32, ptr %p", "NumLoadInst TotalMemInst testUnary"},
    {"Store", "store i32 %a, ptr %p", "NumStoreInst TotalMemInst"},
    {"GetElementPtr", "%1 = getelementptr i32, ptr %p, i64 %l",
     "NumGetElementPtrInst TotalMemInst"},
    {"Fence", "fence seq_cst", ""},
    {"AtomicCmpXchg", "%1 = cmpxchg ptr %p, i32 %a, i32 %b seq_cst seq_cst", ""},
    {"AtomicRMW", "%1 = atomicrmw xchg ptr %p, i32 %a seq_cst", ""},
    {"VAArg", "%1 = va_arg ptr %p, i32", "testUnary"},
    {"Trunc", "%1 = trunc i64 %l to i32", "NumTruncInst testUnary"},
    {"ZExt", "%1 = zext i32 %a to i64", "NumZExtInst testUnary"},
    {"SExt", "%1 = sext i32 %a to i64", "NumSExtInst testUnary"},
    {"FPToUI", "%1 = fptoui float %x to i32", "testUnary"},
    {"FPToSI", "%1 = fptosi float %x to i32", "testUnary"},
    {"UIToFP", "%1 = uitofp i32 %a to float", "testUnary"},
    {"SIToFP", "%1 = sitofp i32 %a to float", "testUnary"},
    {"FPTrunc", "%1 = fptrunc double %d to float", "testUnary"},
    {"FPExt", "%1 = fpext float %x to double", "testUnary"},
    {"PtrToInt", "%1 = ptrtoint ptr %p to i64", "testUnary"},
    {"IntToPtr", "%1 = inttoptr i64 %l to ptr", "testUnary"},
    {"BitCast", "%1 = bitcast i32 %a to float", "NumBitCastInst testUnary"},
    {"AddrSpaceCast", "%1 = addrspacecast ptr %p to ptr addrspace(1)", "testUnary"},
    {"ExtractElement", "%1 = extractelement <2 x i32> %v, i32 %a", ""},
    {"InsertElement", "%1 = insertelement <2 x i32> %v, i32 %a, i32 %b", ""},
    {"ShuffleVector", "%1 = shufflevector <2 x i32> %v, <2 x i32> %v, <2 x i32> <i32 1, i32 2>",
     ""},
    {"ExtractValue", "%1 = extractvalue { i32, float } %s, 0", "testUnary"},
    {"InsertValue", "%1 = insertvalue { i32, float } %s, i32 %a, 0", ""},
};

std::ostream& operator<<(std::ostream& stream, const CountsCase& example) {
  return stream << example.name;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<CountsCase> joined(const std::vector<std::vector<CountsCase>>& groups) {
  std::vector<CountsCase> all;
  for (const std::vector<CountsCase>& cases : groups) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

void expectCounts(const std::string& observation, const std::vector<std::string>& elements,
                  const CountsCase& example) {
  std::map<std::string, int64_t> counts = countsOf(example);
  const Int64Tensor tensor = observe(*startCompilation(example.ir), observation).int64_tensor();
  EXPECT_THAT(tensor.shape(), ::testing::ElementsAre(elements.size()));
  ASSERT_EQ(static_cast<size_t>(tensor.value_size()), elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    EXPECT_EQ(tensor.value(static_cast<int>(i)), counts[elements[i]]) << elements[i];
    counts.erase(elements[i]);
  }
  EXPECT_TRUE(counts.empty()) << "The test misspells " << counts.begin()->first;
}

void expectAllCovered(const std::vector<std::string>& elements,
                      const std::vector<CountsCase>& cases) {
  std::set<std::string> covered;
  for (const CountsCase& example : cases) {
    for (const auto& [name, count] : countsOf(example)) {
      if (count > 0) covered.insert(name);
    }
  }
  for (const std::string& element : elements) {
    EXPECT_EQ(covered.count(element), 1U) << "No module has a " << element;
  }
}

}  // namespace compiler_gym::llvm_service
