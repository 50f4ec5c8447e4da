#pragma once

#include <grpcpp/support/status.h>

#include <boost/filesystem.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llvm_service/Compilation.h"
#include "llvm_service/LlvmSettings.h"
#include "llvm_service/actions/ActionSpaces.h"
#include "llvm_service/observations/Observation.h"
#include "llvm_service/observations/Spaces.h"

namespace compiler_gym::llvm_service {

/// The effect of an action.
struct Outcome {
  bool hadNoEffect = false;
  bool endsEpisode = false;
};

/// The compilation that an observation is about, as it is now. The next call of the game may end
/// it.
struct View {
  Compilation* compilation = nullptr;
  /// A number that changes whenever the value of the observation may change.
  uint64_t version = 0;
  /// True if it is the same compilation for the life of the game, so that observations can cache
  /// results for its parts.
  bool isStable = false;
};

/// A program under compilation, and the actions that affect the compilation. A game may have
/// several compilations, and replace them. LlvmSession has the common code of all games. Games are
/// listed in Games.def.
class Game {
 public:
  virtual ~Game() = default;

  /// Applies an action.
  ///
  /// @param index The index of the action in its list.
  /// @param actionsLeft The actions left in this step, including this one. The program is only
  ///     needed after the last one, whose outcome may include those of the others.
  [[nodiscard]] virtual grpc::Status apply(size_t index, int actionsLeft,
                                           const LlvmSettings& settings, Outcome& outcome) = 0;

  /// Finds the compilation that an observation is about. Does the work that apply() has deferred.
  [[nodiscard]] virtual grpc::Status view(const Observation& observation, View& view) = 0;

  using Visitor = std::function<void(Compilation&)>;

  /// Calls the visitor for each compilation that there is now; there is at least one.
  virtual void visitCompilations(const Visitor& visitor) = 0;

  /// Handles a parameter of this game. Leaves the reply unset for other parameters.
  [[nodiscard]] virtual grpc::Status handleParameter(const std::string& /*key*/,
                                                     const std::string& /*value*/,
                                                     const LlvmSettings& /*settings*/,
                                                     std::optional<std::string>& /*reply*/) {
    return grpc::Status::OK;
  }

  /// See CompilationSession.
  [[nodiscard]] virtual grpc::Status saveReproducer(size_t /*index*/,
                                                    const boost::filesystem::path& /*directory*/) {
    return {grpc::StatusCode::UNIMPLEMENTED, "This game saves no reproducers"};
  }
};

/// The actions and observations of a game, which are the same for all programs.
struct GameRules {
  /// Starts a game on a program.
  using Start = std::function<grpc::Status(std::shared_ptr<const Program>, const ActionList&,
                                           const boost::filesystem::path& workingDirectory,
                                           std::unique_ptr<Game>&)>;

  GameRules(std::vector<ActionList> actionLists, Observations observationList, Start startGame)
      : actions(std::move(actionLists)),
        observations(std::move(observationList)),
        start(std::move(startGame)) {
    for (size_t i = 0; i < observations.size(); ++i) {
      observationIndices.emplace(observations[i].space.name(), i);
    }
  }

  std::vector<ActionList> actions;
  Observations observations;
  /// By name.
  std::unordered_map<std::string, size_t> observationIndices;
  Start start;
};

/// The observations of a program that games other than PassGame have, too: all but those of the
/// last action, and those with the names of the game's own.
Observations observationsOfProgram(const Observations& own);

/// An observation of one class of games.
template <typename OneGame>
Observation observationOf(ObservationSpace space,
                          std::function<grpc::Status(const OneGame&, Event&)> compute) {
  return {forAllClients(std::move(space)),
          [compute = std::move(compute)](const ObservationInput& input, Event& event) {
            return compute(static_cast<const OneGame&>(*input.game), event);
          }};
}

}  // namespace compiler_gym::llvm_service
