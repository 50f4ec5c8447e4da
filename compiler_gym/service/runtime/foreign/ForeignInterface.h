/* The interface of libcompiler_gym_runtime.so, in plain C, for services in languages besides C++.

   It has all features of the runtime of Runtime.h. A program passes one function, which implements
   all methods of CompilationSession. compiler_gym/service/CompilationSession.h documents them.
   The Python package in compiler_gym/service/runtime/ uses this interface. */
#ifndef COMPILER_GYM_SERVICE_RUNTIME_FOREIGN_FOREIGNINTERFACE_H_
#define COMPILER_GYM_SERVICE_RUNTIME_FOREIGN_FOREIGNINTERFACE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The methods, each with its two arguments and its reply, all of them bytes. Messages are
   serialised. A flag is one byte, 0 or 1. Other arguments and replies are empty. */
enum CompilerGymMethod {
  /* Replies with the version of the compiler. Called on the class, without a session. */
  COMPILER_GYM_VERSION = 0,
  /* Replies with the spaces, as GetSpacesReply. Called on the class, without a session. */
  COMPILER_GYM_SPACES = 1,
  /* Constructs a session. Argument: the working directory. This is the first call in a process that
     was forked for a session, so the place for the initialisation of the process. */
  COMPILER_GYM_CREATE = 2,
  /* init(): the name of the action space, and the Benchmark. */
  COMPILER_GYM_INIT = 3,
  /* 4 is no longer used. */
  /* forkable(): a flag as the reply. */
  COMPILER_GYM_FORKABLE = 5,
  /* afterFork(): the first call in a copy of a process. */
  COMPILER_GYM_AFTER_FORK = 6,
  /* beginStep(): the number of actions, in eight bytes in this machine's order. */
  COMPILER_GYM_BEGIN_STEP = 7,
  /* applyAction(): the Event; a StepReply without observations as the reply. */
  COMPILER_GYM_APPLY_ACTION = 8,
  /* computeObservation(): the name of the space; the Event as the reply. */
  COMPILER_GYM_OBSERVE = 9,
  /* endOfStep(): a StepReply without observations; the updated StepReply as the reply. */
  COMPILER_GYM_END_STEP = 10,
  /* handleSessionParameter(): key and value; SendSessionParameterReply as the reply, without an
     element if the key is unknown. */
  COMPILER_GYM_PARAMETER = 11,
  /* saveReproducer(): the action as Event, and the directory. */
  COMPILER_GYM_REPRODUCER = 12,
  /* holdsOnlyMemory(): a flag as the reply. */
  COMPILER_GYM_HOLDS_ONLY_MEMORY = 13,
  /* The session is destroyed. */
  COMPILER_GYM_DESTROY = 14,
  /* afterReply(). */
  COMPILER_GYM_AFTER_REPLY = 15
};

/* Returned in place of a status by a function that lacked memory. */
#define COMPILER_GYM_OUT_OF_MEMORY (-1)

/* Runs a method. `session` identifies the session in all of its processes. Arguments are valid
   during the call. compiler_gym_reply() sets the reply.

   Returns the number of a gRPC status. Unless that is 0, OK, the reply is the text of the error. No
   exception may leave the function. As for methods of CompilationSession, one thread calls it in
   each process of a session. */
typedef int32_t (*CompilerGymFunction)(int32_t method, uint64_t session, const char* first,
                                       size_t firstSize, const char* second, size_t secondSize,
                                       void* reply);

/* Sets the reply of the call with this `reply`. Copies the bytes. */
void compiler_gym_reply(void* reply, const char* data, size_t size);

/* Call this in a worker before it starts another program. If the program leads a process
   group, the group ends with the worker, for whatever reason that ends. */
void compiler_gym_before_command(void);

/* Runs a service until SIGTERM or SIGINT, as createAndRunCompilerGymService() does, which documents
   `usage` and the exit code that is returned. `methods` has the bit 1 << M for each optional method
   M that `function` supports, of those with a default in CompilationSession. Call it from the main
   thread, once, before any other thread is started. */
int compiler_gym_run_service(int argc, char** argv, const char* usage, CompilerGymFunction function,
                             uint64_t methods);

#ifdef __cplusplus
}
#endif

#endif /* COMPILER_GYM_SERVICE_RUNTIME_FOREIGN_FOREIGNINTERFACE_H_ */
