#include "llvm_service/actions/Policy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/YAMLTraits.h"
#include "llvm_service/actions/PolicyText.h"

using compiler_gym::llvm_service::Policy;

LLVM_YAML_IS_SEQUENCE_VECTOR(Policy::Rule)
LLVM_YAML_IS_SEQUENCE_VECTOR(Policy::Spelling)
LLVM_YAML_IS_SEQUENCE_VECTOR(Policy::Variants)

namespace llvm::yaml {

template <>
struct MappingTraits<Policy::Rule> {
  static void mapping(IO& io, Policy::Rule& rule) {
    io.mapRequired("reason", rule.reason);
    io.mapRequired("passes", rule.passes);
  }
};

template <>
struct MappingTraits<Policy::Spelling> {
  static void mapping(IO& io, Policy::Spelling& spelling) {
    io.mapRequired("pass", spelling.pass);
    io.mapRequired("as", spelling.as);
    io.mapRequired("reason", spelling.reason);
  }
};

template <>
struct MappingTraits<Policy::Variants> {
  static void mapping(IO& io, Policy::Variants& variants) {
    io.mapRequired("pass", variants.pass);
    io.mapRequired("parameters", variants.parameters);
  }
};

template <>
struct MappingTraits<Policy> {
  static void mapping(IO& io, Policy& policy) {
    io.mapOptional("exclude", policy.exclusions);
    io.mapOptional("verify", policy.verifications);
    io.mapOptional("spell", policy.spellings);
    io.mapOptional("memory_ssa_loop_passes", policy.memorySSALoopPasses);
    io.mapOptional("variants", policy.parameterised);
  }
};

}  // namespace llvm::yaml

namespace compiler_gym::llvm_service {

namespace {

bool matches(const std::string& pattern, llvm::StringRef pass) {
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  if (glob) {
    return glob->match(pass);
  }
  llvm::consumeError(glob.takeError());
  return pattern == pass;
}

bool isAbout(const Policy::Rule& rule, llvm::StringRef pass) {
  return llvm::any_of(rule.passes, [&](const auto& pattern) { return matches(pattern, pass); });
}

}  // namespace

llvm::Expected<Policy> Policy::parse(llvm::StringRef yaml) {
  std::string message;
  llvm::yaml::Input input(
      yaml, /*Ctxt=*/nullptr,
      [](const llvm::SMDiagnostic& diagnostic, void* text) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
        diagnostic.print("action policy", stream, /*ShowColors=*/false);
      },
      &message);
  Policy policy;
  input >> policy;
  if (std::error_code error = input.error()) {
    return llvm::createStringError(error, message);
  }
  return policy;
}

const Policy& Policy::builtin() {
  static const Policy policy = llvm::cantFail(parse(kPolicyText));
  return policy;
}

std::optional<std::string> Policy::exclusionReason(llvm::StringRef pass) const {
  const auto found =
      llvm::find_if(exclusions, [&](const Rule& rule) { return isAbout(rule, pass); });
  return found == exclusions.end() ? std::nullopt : std::optional(found->reason);
}

bool Policy::mayBreakModules(llvm::StringRef pass) const {
  return llvm::any_of(verifications, [&](const Rule& rule) { return isAbout(rule, pass); });
}

std::string Policy::spelling(llvm::StringRef pass) const {
  const auto found =
      llvm::find_if(spellings, [&](const auto& entry) { return entry.pass == pass; });
  return found == spellings.end() ? pass.str() : found->as;
}

bool Policy::needsMemorySSA(llvm::StringRef pass) const {
  return llvm::is_contained(memorySSALoopPasses, pass);
}

std::vector<std::string> Policy::variants(llvm::StringRef pass) const {
  const auto found =
      llvm::find_if(parameterised, [&](const auto& entry) { return entry.pass == pass; });
  return found == parameterised.end() ? std::vector<std::string>{} : found->parameters;
}

}  // namespace compiler_gym::llvm_service
