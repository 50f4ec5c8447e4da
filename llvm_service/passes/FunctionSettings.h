#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Registers the passes that direct LLVM in single functions, or skip what comes later:
///
/// - `list-functions` prints the functions that the module defines: `index`, `name`, `content` and
///   their FunctionTraits.
/// - `set-functions<0:3=machine-cse+gvn;7=-enable-load-pre=0+frame-pointer=all>` adjusts functions
/// by
///   number. A name is that of a pass that is left out: any that LLVM can do without, on IR or on
///   machine code, by the names that `-opt-bisect-limit` prints. An option of LLVM is set while
///   passes run on the function; it has to be one that they read each time. With `*` in place of a
///   number, it is set for all functions that do not set it themselves. Anything else with a `=` is
///   an attribute of the function. Adjustments that FunctionTraits does not permit are ignored.
/// - `skip-rest` leaves out all passes on IR that would come later, and that LLVM can do without,
///   except for `tailcallelim` and the passes on recursive or excluded functions.
void registerFunctionSettings(llvm::PassBuilder& passBuilder);

/// Adjusts a function, as `set-functions` does. The precondition is not checked.
///
/// @return false if there is no such option, its value is wrong, it is set for the whole program,
///     too, or is only meant for whole programs. Nothing is changed then.
bool adjustFunction(llvm::Function& function, llvm::StringRef text);

/// Sets an option for all functions that do not set it themselves, as `set-functions` does.
///
/// @return as adjustFunction().
bool adjustAllFunctions(llvm::StringRef option);

/// Forgets all adjustments by options and passes, since the next module has other functions.
void clearFunctionSettings();

/// Lets the passes on IR ask for adjustments.
void askBeforePasses(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
