// Records which passes claim falsely that they have preserved everything.
//
//   record_claims --seconds=1800 --output=claims.txt program.bc [program.bc...]
//
// Plays episodes of random passes on the programs. A pass that claims to have preserved all
// analyses must leave the bitcode of the module as it was. Otherwise the claim is false.
//
// The output has a line for each pass: the number of its claims, and how many of them are false. A
// function pass makes one claim for each function that it runs on, a loop pass for each loop, and a
// module pass for the module. Three quarters of the actions are chosen so that passes make --enough
// claims.

#include <gflags/gflags.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler_gym/util/GrpcStatusMacros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm_service/ChangeTracker.h"
#include "llvm_service/Ir.h"
#include "llvm_service/Optimizer.h"
#include "llvm_service/Program.h"
#include "llvm_service/actions/ActionSpaces.h"

DEFINE_double(seconds, 60, "When to end, in seconds of processor time.");
DEFINE_uint64(enough, 100000, "How many claims of each pass to try.");
DEFINE_uint64(seed, 7, "The seed of the random actions.");
DEFINE_string(first, "", "Actions to try before others, separated by commas.");
DEFINE_bool(resume, false, "Add to the claims in the output file. Takes another seed.");
DEFINE_string(output, "",
              "The file to write. It is written again every 5 seconds of processor time.");

namespace compiler_gym::llvm_service {

namespace {

using grpc::Status;
using grpc::StatusCode;

constexpr size_t kMaxProgramBytes = size_t{1} << 30;
constexpr int kActionsPerEpisode = 40;
constexpr char kHeader[] = "# LLVM " LLVM_VERSION_STRING ", ";
constexpr size_t kFunctionsOfParts = 3;
constexpr size_t kPartsPerWhole = 40;
constexpr size_t kWantedActions = 8;
constexpr double kSecondsBetweenWrites = 5;

double secondsOfProcessor() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Claims {
  uint64_t all = 0;
  uint64_t wrong = 0;
};

// The claims by name of the pass.
using ClaimTable = std::map<std::string, Claims>;

/// Compares the claims of passes with their changes to one module. A change tracker that trusts no
/// pass runs after each of them. Functions share constants, so a pass on one function can change
/// the order of uses that another one sees.
class ClaimRecorder final : public PassListener {
 public:
  ClaimRecorder(const llvm::Module& module, ClaimTable& table)
      : module_(module), tracker_(module), table_(table) {}

  void passDone(llvm::StringRef pass, bool claimsNoChange) override {
    const bool isChanged = tracker_.update(module_).changed;
    // Passes that run others are reported only in this case, so they never make a claim.
    if (!claimsNoChange) {
      isAllClaimed_ = false;
      return;
    }
    claiming_.insert(pass.str());
    Claims& claims = table_[pass.str()];
    ++claims.all;
    claims.wrong += isChanged;
  }

  void functionDone(const llvm::Function&) override {}
  void moduleDone() override {}

  /// Ends an action.
  ///
  /// @return the passes that have made a claim in it.
  std::set<std::string> endAction() {
    // Something may have changed between two passes.
    if (tracker_.update(module_).changed && isAllClaimed_) {
      for (const std::string& pass : claiming_) {
        ++table_[pass].wrong;
      }
    }
    isAllClaimed_ = true;
    return std::exchange(claiming_, {});
  }

 private:
  const llvm::Module& module_;
  ChangeTracker tracker_;
  ClaimTable& table_;
  // The passes that have made a claim in the current action.
  std::set<std::string> claiming_;
  bool isAllClaimed_ = true;
};

/// Chooses actions at random, most of them so that passes claim often enough.
class ActionChooser {
 public:
  explicit ActionChooser(const ClaimTable& table)
      : table_(table),
        actions_(ActionSpaces::discover(Policy::builtin()).find("PassesWithParameters")->actions),
        passes_(actions_.size()),
        random_(FLAGS_seed) {
    find();
  }

  size_t choose() {
    if (random_() % 4 == 0 || wanted_.empty()) {
      return random_() % actions_.size();
    }
    return wanted_[random_() % wanted_.size()];
  }

  const std::string& pipeline(size_t action) const { return actions_[action].pipeline; }

  void learn(size_t action, std::set<std::string> passes) { passes_[action].merge(passes); }

  /// Finds the actions to run more often: those that lack the fewest claims, so that some passes
  /// have enough at whatever time the recording ends.
  void find() {
    std::vector<std::tuple<bool, uint64_t, size_t>> lacking;
    for (size_t i = 0; i < actions_.size(); ++i) {
      if (const uint64_t claims = lackingClaims(passes_[i])) {
        lacking.emplace_back(!isFirst(actions_[i].pipeline), claims, i);
      }
    }
    llvm::sort(lacking);
    wanted_.clear();
    for (size_t i = 0; i < std::min(lacking.size(), kWantedActions); ++i) {
      wanted_.push_back(std::get<2>(lacking[i]));
    }
  }

  bool isDone() const { return wanted_.empty(); }

  size_t random(size_t below) { return random_() % below; }

 private:
  static bool isFirst(llvm::StringRef pipeline) {
    llvm::SmallVector<llvm::StringRef> first;
    llvm::StringRef(FLAGS_first).split(first, ',');
    return llvm::is_contained(first, pipeline);
  }

  // Returns the largest number of claims that one of these passes lacks. Passes with a false claim
  // lack none.
  uint64_t lackingClaims(const std::set<std::string>& passes) const {
    uint64_t lacking = passes.empty() ? FLAGS_enough : 0;  // No claim yet.
    for (const std::string& pass : passes) {
      const auto found = table_.find(pass);
      const Claims claims = found == table_.end() ? Claims() : found->second;
      if (claims.wrong == 0 && claims.all < FLAGS_enough) {
        lacking = std::max(lacking, FLAGS_enough - claims.all);
      }
    }
    return lacking;
  }

  const ClaimTable& table_;
  const std::vector<Action> actions_;
  // The passes that have made a claim in each action so far.
  std::vector<std::set<std::string>> passes_;
  std::vector<size_t> wanted_;
  std::mt19937_64 random_;
};

// Programs as bitcode: whole programs, and parts with a few functions, which passes process faster.
struct Corpus {
  std::vector<std::string> wholes;
  std::vector<std::string> parts;
};

// Turns all functions except a few into declarations.
Status takePart(const std::string& bitcode, size_t begin, std::string& part) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode, owned));
  size_t number = 0;
  for (llvm::Function& function : *owned.module) {
    if (!function.isDeclaration() && (number < begin || number >= begin + kFunctionsOfParts)) {
      function.deleteBody();
      function.setComdat(nullptr);
    }
    ++number;
  }
  RETURN_IF_ERROR(Optimizer(*owned.module).run("globaldce"));
  part = writeBitcode(*owned.module);
  return Status::OK;
}

Status addProgram(const std::string& path, Corpus& corpus) {
  Benchmark benchmark;
  benchmark.mutable_program()->set_uri("file://" + path);
  std::shared_ptr<const Program> program;
  RETURN_IF_ERROR(Program::load(benchmark, kMaxProgramBytes, program));
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(program->bitcode(), owned));
  size_t number = 0;
  for (const llvm::Function& function : *owned.module) {
    if (!function.isDeclaration()) {
      RETURN_IF_ERROR(takePart(program->bitcode(), number, corpus.parts.emplace_back()));
    }
    ++number;
  }
  corpus.wholes.push_back(program->bitcode());
  return Status::OK;
}

const std::string& choose(const Corpus& corpus, ActionChooser& chooser) {
  const std::vector<std::string>& bitcodes =
      chooser.random(kPartsPerWhole) == 0 ? corpus.wholes : corpus.parts;
  return bitcodes[chooser.random(bitcodes.size())];
}

Status playEpisode(const std::string& bitcode, ActionChooser& chooser, ClaimTable& table) {
  OwnedModule owned;
  RETURN_IF_ERROR(parseIr(bitcode, owned));
  ClaimRecorder recorder(*owned.module, table);
  Optimizer optimizer(*owned.module, {}, &recorder);
  const bool forgetsAnalyses = chooser.random(2) == 0;
  for (int i = 0; i < kActionsPerEpisode; ++i) {
    const size_t action = chooser.choose();
    const std::string& pipeline = chooser.pipeline(action);
    RETURN_IF_ERROR(optimizer.run(
        forgetsAnalyses && !pipeline.empty() ? pipeline + ",invalidate<all>" : pipeline));
    chooser.learn(action, recorder.endAction());
  }
  return Status::OK;
}

Status read(ClaimTable& table) {
  std::ifstream file(FLAGS_output);
  std::string header;
  if (!std::getline(file, header) || !llvm::StringRef(header).starts_with(kHeader)) {
    return {StatusCode::INVALID_ARGUMENT, "expected claims of LLVM " LLVM_VERSION_STRING " in " +
                                              FLAGS_output + "; record them without --resume"};
  }
  std::getline(file, header);
  std::string pass;
  Claims claims;
  while (file >> pass >> claims.all >> claims.wrong) {
    table[pass] = claims;
  }
  return Status::OK;
}

Status write(const ClaimTable& table, size_t episodes) {
  const std::string temporary = FLAGS_output + ".part";
  std::ofstream file(temporary);
  file << "# LLVM " LLVM_VERSION_STRING ", " << episodes << " episodes, seed " << FLAGS_seed
       << "\n";
  file << "# pass claims false\n";
  for (const auto& [pass, claims] : table) {
    file << pass << " " << claims.all << " " << claims.wrong << "\n";
  }
  file.close();
  if (!file || std::rename(temporary.c_str(), FLAGS_output.c_str()) != 0) {
    return {StatusCode::INTERNAL, "Cannot write " + FLAGS_output};
  }
  return Status::OK;
}

Status record(const std::vector<std::string>& paths) {
  Corpus corpus;
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(addProgram(path, corpus));
  }
  ClaimTable table;
  if (FLAGS_resume) {
    RETURN_IF_ERROR(read(table));
  }
  ActionChooser chooser(table);
  size_t episodes = 0;
  double written = 0;
  while (!chooser.isDone() && secondsOfProcessor() < FLAGS_seconds) {
    RETURN_IF_ERROR(playEpisode(choose(corpus, chooser), chooser, table));
    ++episodes;
    chooser.find();
    if (secondsOfProcessor() - written > kSecondsBetweenWrites) {
      written = secondsOfProcessor();
      RETURN_IF_ERROR(write(table, episodes));
    }
  }
  return write(table, episodes);
}

}  // namespace

}  // namespace compiler_gym::llvm_service

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc < 2 || FLAGS_output.empty()) {
    std::cerr << "usage: record_claims --output=FILE PROGRAM.bc..." << std::endl;
    return 2;
  }
  const grpc::Status status =
      compiler_gym::llvm_service::record(std::vector<std::string>(argv + 1, argv + argc));
  if (!status.ok()) {
    std::cerr << status.error_message() << std::endl;
    return 3;
  }
  return 0;
}
