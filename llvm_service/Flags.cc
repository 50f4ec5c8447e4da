#include "llvm_service/Flags.h"

#include <boost/filesystem.hpp>
#include <cstdlib>
#include <iostream>

#include "llvm/Support/MemoryBuffer.h"
#include "llvm_service/Target.h"
#include "llvm_service/actions/PassPlugins.h"
#include "llvm_service/actions/Policy.h"
#include "llvm_service/costs/LoadedCode.h"
#include "llvm_service/games/Games.h"

namespace {

// The Python package passes its cache folder to the services that it starts.
std::string defaultBaselineCache() {
  const char* const caches = std::getenv("COMPILER_GYM_CACHE");
  if (caches == nullptr || *caches == '\0') return "";
  return (boost::filesystem::absolute(caches) / "baselines").string();
}

}  // namespace

DEFINE_string(game, "passes",
              "The actions of sessions: 'passes', one after the other, or the decisions of another "
              "game. Games are listed in llvm_service/games/Games.def.");

DEFINE_uint64(max_program_bytes, 256 << 20, "The largest program accepted, in bytes.");

DEFINE_string(action_policy, "",
              "A file to use in place of the built-in policy, which says what passes of LLVM are "
              "actions. See llvm_service/actions/policy.yaml for the format.");

DEFINE_string(load_pass_plugin, "",
              "A plugin of `opt` whose passes are actions, as FILE.so or FILE.so:pass,pass. May be "
              "repeated. See llvm_service/actions/PassPlugins.h for how passes are named.");

DEFINE_string(verify, "export",
              "When to verify the module: 'always' (after each action that changed it), 'export' "
              "(before it is printed, written or compiled, and after each pass that is not LLVM's "
              "own or that the policy distrusts) or 'never'.");

DEFINE_string(ir2vec_vocabulary, "",
              "A file of seed vectors for the Ir2vec observations, in LLVM's JSON format. Sessions "
              "can choose another by the parameter llvm.set_ir2vec_vocabulary.");

DEFINE_string(target_triple, "",
              "Compile all programs for this target, e.g. riscv64-linux-gnu, rather than for that "
              "which they name. Sessions can choose another by the parameter "
              "llvm.set_target_triple.");

DEFINE_string(baseline_cache, defaultBaselineCache(),
              "Keep the costs of programs at -O0, -O3 and -Oz in a file of this directory, an "
              "absolute path, from run to run; at most 16 MiB. By default 'baselines' in "
              "$COMPILER_GYM_CACHE. Empty: do not keep them.");

namespace {

bool reportIfInvalid(const char* flag, const std::string& problem) {
  if (!problem.empty()) {
    std::cerr << "--" << flag << ": " << problem << std::endl;
  }
  return problem.empty();
}

bool validateGame(const char* flag, const std::string& text) {
  using namespace compiler_gym::llvm_service;
  const bool known = findGame(text) != nullptr;
  return reportIfInvalid(flag, known ? "" : "expected " + namesOfGames() + ", not '" + text + "'");
}

bool validatePolicy(const char* flag, const std::string& path) {
  auto policy = compiler_gym::llvm_service::loadPolicy(path);
  return reportIfInvalid(flag, policy ? "" : llvm::toString(policy.takeError()));
}

bool validatePlugins(const char* flag, const std::string& specifications) {
  auto plugins = compiler_gym::llvm_service::loadPlugins(specifications);
  return reportIfInvalid(flag, plugins ? "" : llvm::toString(plugins.takeError()));
}

bool validateVerification(const char* flag, const std::string& text) {
  const bool known = compiler_gym::llvm_service::parseVerification(text).has_value();
  return reportIfInvalid(flag, known ? "" : "expected always, export or never, not '" + text + "'");
}

bool validateVocabulary(const char* flag, const std::string& path) {
  std::shared_ptr<const compiler_gym::llvm_service::Ir2vecVocabulary> vocabulary;
  const grpc::Status status =
      path.empty() ? grpc::Status::OK
                   : compiler_gym::llvm_service::Ir2vecVocabulary::load(path, vocabulary);
  return reportIfInvalid(flag, status.error_message());
}

bool validateTargetTriple(const char* flag, const std::string& text) {
  const grpc::Status status =
      text.empty() ? grpc::Status::OK : compiler_gym::llvm_service::checkTargetTriple(text);
  return reportIfInvalid(flag, status.error_message());
}

bool validateBaselineCache(const char* flag, const std::string& path) {
  const bool isUsable = path.empty() || boost::filesystem::path(path).is_absolute();
  return reportIfInvalid(
      flag, isUsable ? "" : "expected an absolute path, or nothing, not '" + path + "'");
}

}  // namespace

DEFINE_validator(game, &validateGame);
DEFINE_validator(baseline_cache, &validateBaselineCache);
DEFINE_validator(ir2vec_vocabulary, &validateVocabulary);
DEFINE_validator(target_triple, &validateTargetTriple);
DEFINE_validator(action_policy, &validatePolicy);
DEFINE_validator(load_pass_plugin, &validatePlugins);
DEFINE_validator(verify, &validateVerification);

namespace compiler_gym::llvm_service {

LlvmSettings settingsOfFlags() {
  LlvmSettings settings;
  if (!FLAGS_ir2vec_vocabulary.empty()) {
    // The flag has been validated. If the file has disappeared since, sessions have no vocabulary.
    static_cast<void>(settings.setIr2vecVocabulary(FLAGS_ir2vec_vocabulary));
  }
  return settings;
}

std::shared_ptr<const BaselineFile> openBaselineFile() {
  if (FLAGS_baseline_cache.empty()) return nullptr;
  return std::make_shared<BaselineFile>(FLAGS_baseline_cache, identityOfLoadedCode());
}

}  // namespace compiler_gym::llvm_service
