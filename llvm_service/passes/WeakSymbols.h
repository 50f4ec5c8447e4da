#pragma once

namespace llvm {
class PassBuilder;
}  // namespace llvm

namespace compiler_gym::llvm_service {

/// Registers the passes that keep weak symbols of a module in its object file.
///
/// LLVM drops inline functions, templates and their tables if nothing in the module uses them any
/// more, since another module that does has its own copy. But shared libraries export them.
///
/// - `list-weak` prints these definitions, unless they are hidden: `index` and `name`.
/// - `keep-weak<0:3:7>` keeps some of them, by number.
void registerWeakSymbols(llvm::PassBuilder& passBuilder);

}  // namespace compiler_gym::llvm_service
