#include "llvm_service/TrustedPasses.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm_service/actions/TrustedPassesText.h"

namespace compiler_gym::llvm_service {

namespace {

constexpr uint64_t kEnoughClaims = 100000;

}  // namespace

llvm::StringSet<> parseTrustedPasses(llvm::StringRef recorded, llvm::StringRef version) {
  llvm::StringSet<> trusted;
  auto [header, lines] = recorded.split('\n');
  if (!header.consume_front("# LLVM ") || header.split(',').first != version) {
    return trusted;
  }
  while (!lines.empty()) {
    const auto [line, rest] = lines.split('\n');
    lines = rest;
    llvm::SmallVector<llvm::StringRef, 3> words;
    line.split(words, ' ');
    uint64_t claims = 0;
    uint64_t wrong = 0;
    const bool isPass = words.size() == 3 && !words[1].getAsInteger(10, claims) &&
                        !words[2].getAsInteger(10, wrong);
    // Names of classes outside of LLVM have a namespace.
    if (isPass && claims >= kEnoughClaims && wrong == 0 && !words[0].contains("::")) {
      trusted.insert(words[0]);
    }
  }
  return trusted;
}

const llvm::StringSet<>& trustedPasses() {
  static const llvm::StringSet<> passes = parseTrustedPasses(kTrustedPasses, LLVM_VERSION_STRING);
  return passes;
}

}  // namespace compiler_gym::llvm_service
