#pragma once

#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

/// The observations of RegallocGame, besides those of its program.
///
/// About the decisions that are played; the values for other decisions are those of no question:
/// - EvictionFeatures, PriorityFeatures: a float vector, the features of the open question: all
///   values of the first feature, then those of the second, see AdvisorFeatures.h. Zeros if there
///   is no question.
/// - EvictionFeatureNames, PriorityFeatureNames: the "name", the "description" and the number of
///   values, "size", of each feature.
/// - EvictionMask: an int64 vector with 1 for each candidate that can be chosen; zeros if there is
///   no question.
/// - EvictionQuestion, PriorityQuestion: the open question as a dictionary: its "number", the
///   "function", and "default", the candidate or the priority that LLVM's rule chooses. Numbers are
///   -1, and the text is empty, if there is no further question.
/// - Evictions, Priorities: all past and remaining questions, as a dictionary of columns:
///   "function", "default", "chosen", and whether the player chose it, "decided". Priorities also
///   have the "size" of the live range.
///
/// About the program:
/// - Spills: the functions with spills, reloads or copies as a dictionary of columns: "function",
///   "spills", "reloads", "copies", and "cost", the estimated executions of all of these for one
///   call of the function, in thousandths.
/// - SpillCount, SpillCountDefault: spills and reloads of the program, and by LLVM's rule.
/// - SpillCost, SpillCostDefault: the sum of all costs, rounded, and by LLVM's rule.
/// - ObjectTextSizeBytes: bytes of code and read-only data of the object file.
/// - ObjectFile: the object file.
/// - BitcodeInput: the program that registers are allocated for, as bitcode.
Observations listRegallocObservations();

}  // namespace compiler_gym::llvm_service
