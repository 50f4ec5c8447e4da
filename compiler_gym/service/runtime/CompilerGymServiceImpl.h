// Definitions of CompilerGymService.h, which includes this file; do not include it directly.
#pragma once

#include <glog/logging.h>

#include <utility>

#include "compiler_gym/service/runtime/BuiltinParameters.h"
#include "compiler_gym/service/runtime/Requests.h"
#include "compiler_gym/util/GrpcStatusMacros.h"

namespace compiler_gym::runtime {

template <typename T>
CompilerGymService<T>::CompilerGymService(const boost::filesystem::path& workingDirectory,
                                          std::unique_ptr<BenchmarkCache> benchmarks)
    : workingDirectory_(workingDirectory),
      benchmarks_(benchmarks ? std::move(benchmarks) : std::make_unique<BenchmarkCache>()),
      description_(*makeSession()) {}

template <typename T>
grpc::Status CompilerGymService<T>::GetVersion(grpc::ServerContext* /*context*/,
                                               const GetVersionRequest* /*request*/,
                                               GetVersionReply* reply) {
  VLOG(2) << "GetVersion()";
  *reply = description_.version();
  return grpc::Status::OK;
}

template <typename T>
grpc::Status CompilerGymService<T>::GetSpaces(grpc::ServerContext* /*context*/,
                                              const GetSpacesRequest* /*request*/,
                                              GetSpacesReply* reply) {
  VLOG(2) << "GetSpaces()";
  *reply = description_.spaces();
  return grpc::Status::OK;
}

template <typename T>
grpc::Status CompilerGymService<T>::StartSession(grpc::ServerContext* /*context*/,
                                                 const StartSessionRequest* request,
                                                 StartSessionReply* reply) {
  VLOG(2) << "StartSession(" << request->benchmark().uri() << ")";
  return util::callWithoutExceptions("StartSession", [&]() -> grpc::Status {
    std::shared_ptr<const Benchmark> benchmark;
    RETURN_IF_ERROR(findOrAddBenchmark(request->benchmark(), *benchmarks_, &benchmark));
    const ActionSpace* actionSpace = nullptr;
    RETURN_IF_ERROR(action_space(nullptr, request->action_space(), &actionSpace));
    RequestedSpaces spaces;
    RETURN_IF_ERROR(description_.findObservationSpaces(request->observation_space(), &spaces));

    auto session = std::make_shared<HostedSession>(makeSession());
    RETURN_IF_ERROR(session->start(*actionSpace, *benchmark, spaces, reply->mutable_observation()));
    reply->set_session_id(addSession(std::move(session)));
    VLOG(1) << "Session " << reply->session_id() << " started on " << benchmark->uri() << "; "
            << sessionCount() << " open";
    return grpc::Status::OK;
  });
}

template <typename T>
grpc::Status CompilerGymService<T>::ForkSession(grpc::ServerContext* /*context*/,
                                                const ForkSessionRequest* request,
                                                ForkSessionReply* reply) {
  VLOG(2) << "ForkSession(" << request->session_id() << ")";
  return util::callWithoutExceptions("ForkSession", [&]() -> grpc::Status {
    std::shared_ptr<HostedSession> original;
    RETURN_IF_ERROR(session(request->session_id(), &original));
    auto copy = std::make_shared<HostedSession>(makeSession());
    RETURN_IF_ERROR(original->fork(copy.get()));
    reply->set_session_id(addSession(std::move(copy)));
    VLOG(1) << "Session " << reply->session_id() << " forked from " << request->session_id() << "; "
            << sessionCount() << " open";
    return grpc::Status::OK;
  });
}

template <typename T>
grpc::Status CompilerGymService<T>::EndSession(grpc::ServerContext* /*context*/,
                                               const EndSessionRequest* request,
                                               EndSessionReply* reply) {
  VLOG(2) << "EndSession(" << request->session_id() << ")";
  return util::callWithoutExceptions("EndSession", [&]() -> grpc::Status {
    std::shared_ptr<HostedSession> removed;
    size_t remaining = 0;
    RETURN_IF_ERROR(sessions_.remove(request->session_id(), &removed, &remaining));
    reply->set_remaining_sessions(static_cast<int32_t>(remaining));
    VLOG(1) << "Session " << request->session_id() << " ended; " << remaining << " open";
    return grpc::Status::OK;
  });
}

template <typename T>
grpc::Status CompilerGymService<T>::Step(grpc::ServerContext* /*context*/,
                                         const StepRequest* request, StepReply* reply) {
  VLOG(2) << "Step(" << request->session_id() << "), " << request->action_size() << " actions, "
          << request->observation_space_size() << " observations";
  return util::callWithoutExceptions("Step", [&]() -> grpc::Status {
    std::shared_ptr<HostedSession> stepped;
    RETURN_IF_ERROR(session(request->session_id(), &stepped));
    RequestedSpaces spaces;
    RETURN_IF_ERROR(description_.findObservationSpaces(request->observation_space(), &spaces));
    return stepped->step(request->action(), spaces, reply);
  });
}

template <typename T>
grpc::Status CompilerGymService<T>::AddBenchmark(grpc::ServerContext* /*context*/,
                                                 const AddBenchmarkRequest* request,
                                                 AddBenchmarkReply* /*reply*/) {
  VLOG(2) << "AddBenchmark(), " << request->benchmark_size() << " benchmarks";
  return util::callWithoutExceptions("AddBenchmark",
                                     [&] { return addBenchmarks(*request, *benchmarks_); });
}

template <typename T>
grpc::Status CompilerGymService<T>::SendSessionParameter(grpc::ServerContext* /*context*/,
                                                         const SendSessionParameterRequest* request,
                                                         SendSessionParameterReply* reply) {
  VLOG(2) << "SendSessionParameter(" << request->session_id() << "), " << request->parameter_size()
          << " parameters";
  return util::callWithoutExceptions("SendSessionParameter", [&]() -> grpc::Status {
    std::shared_ptr<HostedSession> receiver;
    RETURN_IF_ERROR(session(request->session_id(), &receiver));
    return receiver->setParameters(
        *request,
        [this](const std::string& key, const std::string& value,
               std::optional<std::string>& parameterReply) {
          return handleBuiltinSessionParameter(key, value, parameterReply);
        },
        reply);
  });
}

template <typename T>
grpc::Status CompilerGymService<T>::session(uint64_t id,
                                            std::shared_ptr<HostedSession>* session) const {
  return sessions_.find(id, session);
}

template <typename T>
grpc::Status CompilerGymService<T>::action_space(const CompilationSession* /*session*/, int index,
                                                 const ActionSpace** actionSpace) const {
  return description_.findActionSpace(index, actionSpace);
}

template <typename T>
grpc::Status CompilerGymService<T>::observation_space(
    const CompilationSession* /*session*/, int index,
    const ObservationSpace** observationSpace) const {
  return description_.findObservationSpace(index, observationSpace);
}

template <typename T>
uint64_t CompilerGymService<T>::addSession(std::shared_ptr<HostedSession> session) {
  return sessions_.add(std::move(session));
}

template <typename T>
grpc::Status CompilerGymService<T>::handleBuiltinSessionParameter(
    const std::string& key, const std::string& value, std::optional<std::string>& reply) {
  return handleSizeParameters(kBenchmarkCacheParameters, key, value, *benchmarks_, reply);
}

}  // namespace compiler_gym::runtime
