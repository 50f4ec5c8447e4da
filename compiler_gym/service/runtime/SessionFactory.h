// How sessions of a compiler are made.
#pragma once

#include <boost/filesystem.hpp>
#include <functional>
#include <memory>

#include "compiler_gym/service/CompilationSession.h"

namespace compiler_gym::runtime {

// Makes a session that uses this working directory.
using SessionFactory =
    std::function<std::unique_ptr<CompilationSession>(const boost::filesystem::path&)>;

}  // namespace compiler_gym::runtime
