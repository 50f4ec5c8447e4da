/* Services in other languages than C++: what libcompiler_gym_runtime.so exports, in plain C.

   The runtime is the one of Runtime.h, with all that it does. A program hands it one function,
   which does the work of all methods of CompilationSession
   (compiler_gym/service/CompilationSession.h, which says what they mean and when they are called).
   compiler_gym/service/runtime/ is the use of this by Python. */
#ifndef COMPILER_GYM_SERVICE_RUNTIME_FOREIGN_FOREIGNINTERFACE_H_
#define COMPILER_GYM_SERVICE_RUNTIME_FOREIGN_FOREIGNINTERFACE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the function is called for, with its two arguments and its reply, all of them bytes.
   Messages are serialised; a flag is one byte, 0 or 1; what is not mentioned is empty. */
enum CompilerGymMethod {
  /* The version of the compiler as the reply. For the class, so without a session. */
  COMPILER_GYM_VERSION = 0,
  /* The spaces, as GetSpacesReply. For the class, so without a session. */
  COMPILER_GYM_SPACES = 1,
  /* A session was constructed; nothing is known of it yet. Argument: the working directory. The
     first call in a process that was forked for a session, so the place for what must be done
     there. */
  COMPILER_GYM_CREATE = 2,
  /* init(): the name of the action space, and the Benchmark. */
  COMPILER_GYM_INIT = 3,
  /* 4 is not used any more. */
  /* forkable(): a flag as the reply. */
  COMPILER_GYM_FORKABLE = 5,
  /* afterFork(): the first call in a copy of a process. */
  COMPILER_GYM_AFTER_FORK = 6,
  /* beginStep(): the number of actions, in eight bytes as of this machine. */
  COMPILER_GYM_BEGIN_STEP = 7,
  /* applyAction(): the Event; a StepReply without observations as the reply. */
  COMPILER_GYM_APPLY_ACTION = 8,
  /* computeObservation(): the name of the space; the Event as the reply. */
  COMPILER_GYM_OBSERVE = 9,
  /* endOfStep(): a StepReply without observations, and as the reply what has become of it. */
  COMPILER_GYM_END_STEP = 10,
  /* handleSessionParameter(): key and value; SendSessionParameterReply as the reply, without an
     element if the key is not known. */
  COMPILER_GYM_PARAMETER = 11,
  /* saveReproducer(): the action as Event, and the directory. */
  COMPILER_GYM_REPRODUCER = 12,
  /* holdsOnlyMemory(): a flag as the reply. */
  COMPILER_GYM_HOLDS_ONLY_MEMORY = 13,
  /* The session is destroyed. */
  COMPILER_GYM_DESTROY = 14
};

/* Returned in place of a status by a function that lacked memory. */
#define COMPILER_GYM_OUT_OF_MEMORY (-1)

/* The work of a method. `session` is the same number for the same session in all processes that it
   lives on in. Arguments are valid during the call. The reply is given by compiler_gym_reply().

   Returns the number of a gRPC status; unless it is 0, OK, the reply is the text of the error. An
   exception must not leave it. It is called as methods of CompilationSession are: by one thread in
   each process of a session. */
typedef int32_t (*CompilerGymFunction)(int32_t method, uint64_t session, const char* first,
                                       size_t firstSize, const char* second, size_t secondSize,
                                       void* reply);

/* Sets the reply of the call that was given this `reply`. The bytes are copied. */
void compiler_gym_reply(void* reply, const char* data, size_t size);

/* To be called in a session process before it starts another program. If that leads a process group
   of its own, what is left of the group ends with the session process, however that ends. */
void compiler_gym_before_command(void);

/* Runs a service until SIGTERM or SIGINT, as createAndRunCompilerGymService() does, which documents
   `usage` and the exit code that is returned. `methods` has the bit 1 << M for each optional method
   M that `function` knows: those of CompilationSession that have a default. Call it from the main
   thread, once, before any other thread is started. */
int compiler_gym_run_service(int argc, char** argv, const char* usage, CompilerGymFunction function,
                             uint64_t methods);

#ifdef __cplusplus
}
#endif

#endif /* COMPILER_GYM_SERVICE_RUNTIME_FOREIGN_FOREIGNINTERFACE_H_ */
