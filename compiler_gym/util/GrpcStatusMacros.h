// Shorthands for functions that return grpc::Status.
#pragma once

#include <glog/logging.h>
#include <grpcpp/support/status.h>

#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace compiler_gym::util {

// Calls `function`, which returns a grpc::Status. Exceptions become a status: std::bad_alloc
// RESOURCE_EXHAUSTED, others INTERNAL. Its text names `where`: a string, or a function that returns
// one, called after an exception. For the boundaries of a process, a thread or a request; functions
// in between let exceptions pass.
template <typename Where, typename Function>
[[nodiscard]] grpc::Status callWithoutExceptions(const Where& where, Function&& function) {
  const auto text = [&where]() -> std::string {
    if constexpr (std::is_invocable_v<Where>) {
      return where();
    } else {
      return where;
    }
  };
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "Out of memory in " + text());
  } catch (const std::exception& error) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "Exception in " + text() + ": " + error.what());
  } catch (...) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "Exception of unknown type in " + text());
  }
}

// Ends the process with a log message unless `status` is OK. Use ASSERT_OK().
inline void assertOk(const grpc::Status& status, const char* expression, const char* file,
                     int line) {
  if (status.ok()) return;
  google::LogMessageFatal(file, line).stream()
      << "Status of " << expression << " is " << status.error_code() << ": "
      << status.error_message();
}

}  // namespace compiler_gym::util

// Evaluates a grpc::Status and returns it from the enclosing function unless it is OK. Exceptions
// pass: the runtime makes statuses of them where it calls a session, and where it serves a request.
#define RETURN_IF_ERROR(expr)                                  \
  do {                                                         \
    ::grpc::Status returnIfErrorStatus = (expr);               \
    if (!returnIfErrorStatus.ok()) return returnIfErrorStatus; \
  } while (false)

// Evaluates a grpc::Status and ends the process with a log message unless it is OK.
#define ASSERT_OK(expr) ::compiler_gym::util::assertOk((expr), #expr, __FILE__, __LINE__)
