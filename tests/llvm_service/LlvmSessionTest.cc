// The LLVM service as its clients see it, without a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "llvm_service/Flags.h"
#include "llvm_service/games/Games.h"
#include "tests/Statuses.h"
#include "tests/llvm_service/LlvmClient.h"
#include "tests/llvm_service/Programs.h"
#include "tests/llvm_service/SessionPlayer.h"

namespace compiler_gym::llvm_service {
namespace {

using grpc::Status;
using grpc::StatusCode;

// Indices of the action spaces.
constexpr int kPassesAll = 0;
constexpr int kPassesWithParameters = 1;

class LlvmSessionTest : public ::testing::Test {
 protected:
  int64_t start(const std::string& kernelName = "sha256", int actionSpace = kPassesWithParameters) {
    return client_.start(makeBenchmark(kernel(kernelName)), actionSpace);
  }

  int64_t action(const std::string& name) const {
    return client_.actionNumber(kPassesWithParameters, name);
  }

  std::vector<int64_t> randomActions(size_t count) {
    std::uniform_int_distribution<int64_t> any(0, client_.actionCount(kPassesWithParameters) - 1);
    std::vector<int64_t> actions(count);
    for (int64_t& action : actions) {
      action = any(random_);
    }
    return actions;
  }

  std::string namesOf(const std::vector<int64_t>& actions) const {
    std::string names;
    for (const int64_t action : actions) {
      names += (names.empty() ? "" : ",") + client_.actionName(kPassesWithParameters, action);
    }
    return names;
  }

  LlvmClient client_;
  std::mt19937 random_{20240229};
};

// What changed is not looked for after each of the actions of a step. Observations are kept until
// something changes.
TEST_F(LlvmSessionTest, AStepOfSeveralActionsEqualsSeveralSteps) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<int64_t> actions = randomActions(1 + round % 5);
    const int64_t together = start();
    const bool changed = client_.step(together, actions);
    const int64_t apart = start();
    bool changedApart = false;
    for (const int64_t action : actions) {
      changedApart |= client_.step(apart, {action});
    }
    EXPECT_EQ(changed, changedApart) << namesOf(actions);
    for (const char* name :
         {"IrSha1", "PassStats", "Autophase", "InstCount", "IrInstructionCount"}) {
      EXPECT_EQ(client_.observe(together, name).ShortDebugString(),
                client_.observe(apart, name).ShortDebugString())
          << name << " after " << namesOf(actions);
    }
  }
}

TEST_F(LlvmSessionTest, RefusesProgramsLargerThanTheFlag) {
  const gflags::FlagSaver saver;
  FLAGS_max_program_bytes = 100;
  LlvmClient client;
  int64_t session = 0;
  EXPECT_THAT(client.tryStart(makeBenchmark(std::string(101, ';')), kPassesAll, session),
              IsError(StatusCode::RESOURCE_EXHAUSTED, "accepts 100"));
}

TEST_F(LlvmSessionTest, RunsOnAProgramWithoutFunctions) {
  const int64_t session = client_.start(makeBenchmark("; nothing\n"), kPassesWithParameters);
  for (int64_t action = 0; action < client_.actionCount(kPassesWithParameters); ++action) {
    client_.step(session, {action});
  }
  EXPECT_EQ(client_.number(session, "IrInstructionCount"), 0);
}

struct CountParameter {
  const char* name;
  const char* initial;
  const char* outside;  // Of the range.
  const char* good = "5";
};

class CountParameterTest : public LlvmSessionTest,
                           public ::testing::WithParamInterface<CountParameter> {};

TEST_P(CountParameterTest, IsSetAndRead) {
  const int64_t session = start();
  const std::string set = std::string("llvm.set_") + GetParam().name;
  const std::string get = std::string("llvm.get_") + GetParam().name;
  const std::string good = GetParam().good;
  EXPECT_EQ(client_.send(session, get, ""), GetParam().initial);
  EXPECT_EQ(client_.send(session, set, good), good);
  EXPECT_EQ(client_.send(session, get, "ignored"), good);
  for (const char* bad :
       {GetParam().outside, "-3", "", "five", "1.5", "2 ", "0x2", "99999999999999999999"}) {
    EXPECT_THAT(client_.trySend(session, set, bad), IsError(StatusCode::INVALID_ARGUMENT, set))
        << bad;
  }
  EXPECT_EQ(client_.send(session, get, ""), good);
  EXPECT_EQ(client_.send(start(), get, ""), GetParam().initial) << "Sessions share it";
}

INSTANTIATE_TEST_SUITE_P(
    Parameter, CountParameterTest,
    ::testing::Values(CountParameter{"runtimes_per_observation_count", "1", "0"},
                      CountParameter{"warmup_runs_count_per_runtime_observation", "0", "-1"},
                      CountParameter{"buildtimes_per_observation_count", "1", "0"},
                      CountParameter{"runtime_pinning", "0", "2", "1"}),
    [](const auto& info) { return info.param.name; });

// A session that counts the computations of one of its observations.
class CachedObservationTest : public LlvmSessionTest {
 protected:
  CachedObservationTest() : rules_(passGame()), session_(client_.workingDirectory(), rules_) {
    Observation& observation = rules_.observations.at(rules_.observationIndices.at(kObservation));
    observation.compute = [this](const ObservationInput& input, Event& value) {
      ++computed_;
      reused_ += input.kept->has_value();
      *input.kept = true;
      value.set_int64_value(computed_);
      return Status::OK;
    };
  }

  void SetUp() override {
    ASSERT_THAT(session_.init(rules_.actions[kPassesWithParameters].toProto(),
                              makeBenchmark(kernel("sha256"))),
                IsOk());
  }

  int64_t observed() { return observe(session_, kObservation).int64_value(); }

  static constexpr char kObservation[] = "IrInstructionCount";
  static constexpr const char* kQuestions[] = {
      "llvm.get_target_triple",
      "llvm.get_analyses",
      "llvm.get_ir2vec_vocabulary",
      "llvm.get_baseline_counts",
      "llvm.get_runtime_pinning",
      "llvm.get_runtimes_per_observation_count",
      "llvm.get_warmup_runs_count_per_runtime_observation",
      "llvm.get_buildtimes_per_observation_count",
  };

  GameRules rules_;
  LlvmSession session_;
  int64_t computed_ = 0;
  // How often the computation found what the one before had left for it.
  int64_t reused_ = 0;
};

TEST_F(CachedObservationTest, QuestionsKeepTheValueAndTheParts) {
  EXPECT_EQ(observed(), 1);
  for (const char* question : kQuestions) {
    EXPECT_TRUE(send(session_, question)) << question;
    EXPECT_EQ(observed(), 1) << question;
  }
  EXPECT_FALSE(step(session_, action("function(sroa)")).hadNoEffect);
  EXPECT_EQ(observed(), 2);
  EXPECT_EQ(reused_, 1);
}

TEST_F(CachedObservationTest, SettingsDiscardTheValueAndTheParts) {
  observed();
  send(session_, "llvm.set_runtimes_per_observation_count", "2");
  EXPECT_EQ(observed(), 2);
  EXPECT_EQ(reused_, 0);
}

TEST_F(LlvmSessionTest, AppliesBaselines) {
  for (const std::string level : {"Oz", "O3"}) {
    const int64_t session = start();
    EXPECT_EQ(client_.send(session, "llvm.apply_baseline_optimizations", "-" + level), "1");
    EXPECT_EQ(client_.number(session, "IrInstructionCount"),
              client_.number(session, "IrInstructionCount" + level));
  }
}

TEST_F(LlvmSessionTest, TellsWhetherABaselineChangedAnything) {
  const int64_t session =
      client_.start(makeBenchmark("define noundef i32 @f() local_unnamed_addr #0 {\n"
                                  "  ret i32 0\n"
                                  "}\n"
                                  "attributes #0 = { mustprogress nofree norecurse nosync nounwind "
                                  "willreturn memory(none) }\n"),
                    kPassesAll);
  client_.send(session, "llvm.apply_baseline_optimizations", "-Oz");
  const std::string before = client_.bitcode(session);
  EXPECT_EQ(client_.send(session, "llvm.apply_baseline_optimizations", "-Oz"), "0");
  EXPECT_TRUE(client_.bitcode(session) == before);
}

TEST_F(LlvmSessionTest, RefusesOtherBaselines) {
  const int64_t session = start();
  const std::string before = client_.bitcode(session);
  for (const char* level : {"", "-O0", "-O1", "-Os", "Oz", "O3", "-oz", "-Oz "}) {
    EXPECT_THAT(client_.trySend(session, "llvm.apply_baseline_optimizations", level),
                IsError(StatusCode::INVALID_ARGUMENT, "-Oz or -O3"));
  }
  EXPECT_TRUE(client_.bitcode(session) == before);
}

}  // namespace
}  // namespace compiler_gym::llvm_service
