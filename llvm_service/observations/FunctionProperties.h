#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
}

namespace compiler_gym::llvm_service {

/// LLVM's names of the properties that it counts in a function, see FunctionProperties.
std::vector<std::string> namesOfProperties();

/// The counts of a function with a body, in the same order.
std::vector<int64_t> propertiesOf(const llvm::Function& function);

}  // namespace compiler_gym::llvm_service
