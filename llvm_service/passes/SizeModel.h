#pragma once

#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm_service/passes/SizeFeatures.h"

namespace compiler_gym::llvm_service {

/// A sum of regression trees, whose nodes stand one after the other. A leaf is its own left node.
struct Trees {
  double start = 0;
  std::vector<size_t> roots;
  std::vector<size_t> features;
  /// Of a leaf what it adds to the sum; of others the largest value with which the left node
  /// follows.
  std::vector<double> numbers;
  std::vector<size_t> left;
  std::vector<size_t> right;

  double predict(const std::vector<double>& values) const;
};

/// Decisions of one kind, each with trees that predict what it saves.
struct Choices {
  struct Choice {
    std::string text;
    /// The least expected gain with which the decision is made.
    double least = 0;
    Trees trees;
  };

  std::vector<std::string> features;
  std::vector<Choice> choices;
  /// The most instructions of a function about which is decided, since the trees have seen no
  /// larger ones; 0 for any.
  double most = 0;

  /// Returns the expected gain of each decision.
  std::vector<double> gains(const Features& features) const;

  /// The least share of a module's code that all decisions together are expected to save, or else
  /// none of them is made: small gains are often wrong.
  double enough = 0;

  struct Decision {
    double gain;
    llvm::StringRef text;
  };

  /// Returns the decisions that are expected to save enough, the best first.
  std::vector<Decision> wanted(llvm::ArrayRef<double> gains) const;
};

/// What is known about the code of one target.
struct TargetModel {
  /// The name of the target, see modelName(); empty if there is no model for it.
  std::string target;
  /// A description for people.
  std::string about;
  /// Adjustments of functions on which no pass has run.
  Choices start;
  /// Adjustments of functions before machine code is generated.
  Choices end;
  /// Options for all functions of a source, by the mean gain in its functions.
  Choices whole;
  /// "inline" and "keep", for all calls of a function.
  Choices calls;
};

/// Returns the name of a target's model: that of its architecture, as
/// llvm::Triple::getArchTypeName() has it, or "thumbv6m" for processors whose only instructions are
/// those of Thumb-1, such as Cortex-M0.
llvm::StringRef modelName(const llvm::Triple& target);

/// Reads a model that `python -m compiler_gym.tuning.changes train-one-run` writes.
llvm::Expected<TargetModel> readSizeModel(llvm::StringRef text);

}  // namespace compiler_gym::llvm_service
