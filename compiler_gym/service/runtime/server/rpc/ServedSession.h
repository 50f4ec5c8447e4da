// What the RPCs need of sessions, wherever these live.
#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>

#include "compiler_gym/service/proto/compiler_gym_service.pb.h"
#include "compiler_gym/service/runtime/wire/Channel.h"
#include "compiler_gym/service/runtime/wire/ServiceDescription.h"
#include "compiler_gym/util/FileDescriptor.h"

namespace compiler_gym::runtime {

// What a client of the direct channel gets with a new session.
struct Handover {
  // The socket of the session, for the reply. None if the session has no process.
  util::FileDescriptor client;
  // What is to be destroyed after the reply was sent: a client that has to wait for a processor
  // until that is over would wait longer than for all else.
  std::shared_ptr<void> afterReply;
};

// How a request has come.
struct RequestContext {
  Deadline deadline;
  // Set for clients of the direct channel.
  Handover* handover = nullptr;
};

// A session that was started. Methods may be called from any number of threads; requests are
// served one after the other.
class ServedSession {
 public:
  virtual ~ServedSession() = default;

  virtual grpc::Status step(const StepRequest& request, StepReply* reply, Deadline deadline) = 0;

  // INVALID_ARGUMENT if the session does not know one of the parameters; those before it stay set.
  virtual grpc::Status setParameters(const SendSessionParameterRequest& request,
                                     SendSessionParameterReply* reply, Deadline deadline) = 0;

  // Another number after whatever the session has done, be it asked for by the above or not.
  virtual uint64_t activity() const { return 0; }

  // Fails every later request with NOT_FOUND. Does not wait for the one at work.
  virtual void close() = 0;
};

// Where sessions live: in the process of the service, or each in a process of its own. Methods may
// be called from any number of threads.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;

  virtual const ServiceDescription& description() const = 0;

  // Whether nothing that one session does can hurt another.
  virtual bool isolatesSessions() const = 0;

  // Starts a session on the benchmark, which `request` need not hold, and puts the observations
  // into the reply. The spaces of the request exist.
  virtual grpc::Status start(const std::shared_ptr<const Benchmark>& benchmark,
                             const StartSessionRequest& request, const RequestContext& context,
                             StartSessionReply* reply, std::shared_ptr<ServedSession>* session) = 0;

  // Starts a copy of a session that was made by this object.
  virtual grpc::Status fork(const std::shared_ptr<ServedSession>& original,
                            const RequestContext& context,
                            std::shared_ptr<ServedSession>* copy) = 0;

  // Destroys a session, perhaps a moment later.
  virtual void dispose(std::shared_ptr<ServedSession> session) = 0;

  // Handles a parameter of the backend itself; leaves `reply` unset for any other.
  virtual grpc::Status setParameter(const SessionParameter& parameter,
                                    std::optional<std::string>& reply) = 0;

  // Ends all sessions, if that is possible; requests at work then fail.
  virtual void stop() = 0;
};

}  // namespace compiler_gym::runtime
