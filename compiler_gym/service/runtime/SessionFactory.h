// Factories of compilation sessions.
#pragma once

#include <boost/filesystem.hpp>
#include <functional>
#include <memory>
#include <type_traits>

#include "compiler_gym/service/CompilationSession.h"

namespace compiler_gym::runtime {

// Makes a session that uses this working directory.
using SessionFactory =
    std::function<std::unique_ptr<CompilationSession>(const boost::filesystem::path&)>;

// Returns the factory of a class of sessions.
template <typename CompilationSessionType>
SessionFactory makeSessionFactory() {
  static_assert(std::is_base_of_v<CompilationSession, CompilationSessionType>,
                "A service hosts a subclass of CompilationSession");
  static_assert(
      std::is_constructible_v<CompilationSessionType, const boost::filesystem::path&>,
      "A CompilationSession is constructed from the working directory (inherit its constructor)");
  return [](const boost::filesystem::path& workingDirectory) {
    return std::make_unique<CompilationSessionType>(workingDirectory);
  };
}

}  // namespace compiler_gym::runtime
