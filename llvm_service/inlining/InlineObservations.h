#pragma once

#include "llvm_service/observations/Observation.h"

namespace compiler_gym::llvm_service {

/// The observations of InlineGame, besides those of its program. All are deterministic.
///
/// - InlineQuestion: the call that the inliner asks about next, as a dictionary: "number", how
///   many were answered before; "site", the call's number or that of which it is a copy, -1 for one
///   that was through a pointer; "caller", "callee"; "default", whether LLVM's cost model inlines
///   it. Number and site are -1, and the texts empty, if there is no further question.
/// - InlineFeatures: an int64 vector of the features of that call, zeros if there is none.
/// - InlineFeatureNames: the "name" and the "description" of each of these.
/// - InlineDecisions: all that the inliner asked, in its order, as a dictionary of columns: "site",
///   "caller", "callee", "default", "inlined", and whether the player was the reason, "decided".
/// - InlineSites: the calls of functions that the program defines, before any pass, as a dictionary
///   of columns: "caller", "callee", "callee_number", "open", whether it can be decided about;
///   "decision", 0 to keep it, 1 to inline it, -1 for none; how often it and its copies were
///   "inlined" and "kept"; and "default_inlined", "default_kept", the same by LLVM's decisions.
/// - InlineSiteFeatures: a column for each feature, and an element for each of these calls, as they
///   are when the inliner first asks about it; zeros if it does not. Optimises the program again.
/// - BitcodeInput: the program before any pass, as LLVM bitcode.
/// - IrInstructionCountDefault: the IR instructions that LLVM's own decisions lead to.
Observations listInlineObservations();

}  // namespace compiler_gym::llvm_service
