#include "compiler_gym/service/runtime/server/rpc/InProcessBackend.h"

#include <utility>

#include "compiler_gym/service/runtime/session/Session.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

using grpc::Status;

namespace {

class InProcessSession final : public ServedSession {
 public:
  InProcessSession(std::unique_ptr<CompilationSession> session,
                   const ServiceDescription& description)
      : session_(std::move(session), description) {}

  Status step(const StepRequest& request, StepReply* reply, Deadline /*deadline*/) override {
    return session_.step(request, reply);
  }

  Status setParameters(const SendSessionParameterRequest& request, SendSessionParameterReply* reply,
                       Deadline /*deadline*/) override {
    return session_.setParameters(request, reply);
  }

  void close() override { session_.close(); }

  Session& session() { return session_; }

 private:
  Session session_;
};

class InProcessBackend final : public SessionBackend {
 public:
  InProcessBackend(SessionFactory makeSession, const boost::filesystem::path& workingDirectory)
      : makeSession_(std::move(makeSession)),
        workingDirectory_(workingDirectory),
        description_(*makeSession_(workingDirectory_)) {}

  const ServiceDescription& description() const override { return description_; }
  bool isolatesSessions() const override { return false; }

  Status start(const std::shared_ptr<const Benchmark>& benchmark,
               const StartSessionRequest& request, const RequestContext& /*context*/,
               StartSessionReply* reply, std::shared_ptr<ServedSession>* session) override {
    const auto started = make();
    RETURN_IF_ERROR(started->session().start(request, *benchmark, reply));
    *session = started;
    return Status::OK;
  }

  Status fork(const std::shared_ptr<ServedSession>& original, const RequestContext& /*context*/,
              std::shared_ptr<ServedSession>* copy) override {
    const auto forked = make();
    auto& hosted = static_cast<InProcessSession&>(*original);
    RETURN_IF_ERROR(hosted.session().fork(&forked->session()));
    *copy = forked;
    return Status::OK;
  }

  void dispose(std::shared_ptr<ServedSession> session) override { session.reset(); }

  Status setParameter(const SessionParameter& /*parameter*/,
                      std::optional<std::string>& /*reply*/) override {
    return Status::OK;
  }

  void stop() override {}

 private:
  std::shared_ptr<InProcessSession> make() const {
    return std::make_shared<InProcessSession>(makeSession_(workingDirectory_), description_);
  }

  const SessionFactory makeSession_;
  const boost::filesystem::path workingDirectory_;
  const ServiceDescription description_;
};

}  // namespace

std::unique_ptr<SessionBackend> makeInProcessBackend(
    SessionFactory makeSession, const boost::filesystem::path& workingDirectory) {
  return std::make_unique<InProcessBackend>(std::move(makeSession), workingDirectory);
}

}  // namespace compiler_gym::runtime
