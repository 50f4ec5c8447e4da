"""The connection of an environment to its service."""

import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from typing_extensions import override

from compiler_gym.errors import ServiceError, ServiceIsClosed
from compiler_gym.service.connection import CompilerGymServiceConnection
from compiler_gym.service.episodic_env import EpisodicEnv
from compiler_gym.service.proto import (
    Event,
    GetVersionReply,
    GetVersionRequest,
)
from compiler_gym.service.session.session_manager import SessionManager
from compiler_gym.spaces import Reward
from compiler_gym.views import ObservationSpaceSpec
from compiler_gym.views.observation_view import RawStep

_OBSERVATION_SECONDS = 300


class ConnectedEnv(EpisodicEnv):
    """The part of an environment that has to do with the service other than by steps.

    Subclasses set :attr:`_sessions` before anything else.
    """

    # For __del__, should a constructor fail.
    _sessions: SessionManager | None = None

    _versions: GetVersionReply | None = None

    @property
    def service(self) -> CompilerGymServiceConnection:
        """The connection to the service, which is made if there is none at the moment."""
        return self._sessions.connection

    @property
    def versions(self) -> GetVersionReply:
        """The versions of service and compiler."""
        if self._versions is None:
            connection = self.service
            self._versions = connection(connection.stub.GetVersion, GetVersionRequest())
        return self._versions

    @property
    @override
    def version(self) -> str:
        return self.versions.service_version

    @property
    @override
    def compiler_version(self) -> str:
        return self.versions.compiler_version

    def send_param(self, key: str, value: str, resend_on_reset: bool = False) -> str:
        """As :meth:`send_params`, for a single parameter. Returns its reply."""
        return self.send_params((key, value), resend_on_reset=resend_on_reset)[0]

    def send_params(self, *params: tuple[str, str], resend_on_reset: bool = False) -> list[str]:
        """Sends parameters to the session.

        Args:
            params: Keys and values.
            resend_on_reset: Send them again at the start of each further episode. They are
                remembered even if this call then fails because there is no episode yet.

        Returns:
            The service's reply to each.

        Raises:
            SessionNotFound: If there is no episode.
            ValueError: If a key is unknown or a value malformed; those before it are set.
        """
        if resend_on_reset:
            self._sessions.params.update(params)
        replies = self._sessions.require_session().send_params(params)
        self._episode.params.extend(params)
        return replies

    @override
    def close(self) -> None:
        if self._sessions is not None:
            self._sessions.close()

    def __del__(self):
        # The service is ended at exit anyway, and gRPC does not work any more by then.
        if not sys.is_finalizing():
            with suppress(Exception):
                self.close()

    @property
    @override
    def in_episode(self) -> bool:
        return self._sessions.session is not None

    def _raw_step(self) -> RawStep:
        """Returns what an observation view makes its requests by."""
        # The view must not keep the environment alive: deleting that is to end its session.
        reference = weakref.ref(self)

        def observe(**kwargs: Any) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
            env = reference()
            if env is None:
                raise ServiceIsClosed("The environment of this view does not exist any more")
            return env._observe(**kwargs)

        return observe

    def _observe(
        self,
        actions: Sequence[Event],
        observation_spaces: Sequence[ObservationSpaceSpec],
        reward_spaces: Sequence[Reward],
    ) -> tuple[list[Any], list[float], bool, dict[str, Any]]:
        """What the view calls. Raises the errors of the service; the episode survives if it can."""
        plan = self._make_plan(observation_spaces, reward_spaces)
        try:
            reply = self._sessions.step(actions, plan.indices, _OBSERVATION_SECONDS)
        except (ServiceError, TimeoutError) as error:
            if self._sessions.is_lost_by(error):
                self._sessions.abandon(error)
            raise
        return *plan.evaluate(reply.observation, [], self._observation_view), False, {}
