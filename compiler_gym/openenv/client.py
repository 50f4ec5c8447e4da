"""The client of the OpenEnv environment."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from compiler_gym.openenv.models import CompilerAction, CompilerObservation, CompilerState


class CompilerEnvClient(EnvClient[CompilerAction, CompilerObservation, CompilerState]):
    """Plays episodes over a WebSocket. Each client has a session of its own on the server.

    It is asynchronous; :meth:`sync` returns a synchronous client.
    """

    def _step_payload(self, action: CompilerAction) -> dict[str, Any]:
        return action.model_dump(exclude_none=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[CompilerObservation]:
        reward, done = payload.get("reward"), bool(payload.get("done"))
        metadata = payload.get("metadata") or {}
        fields = {**payload["observation"], "reward": reward, "done": done, "metadata": metadata}
        observation = CompilerObservation.model_validate(fields)
        return StepResult(observation=observation, reward=reward, done=done, metadata=metadata)

    def _parse_state(self, payload: dict[str, Any]) -> CompilerState:
        return CompilerState.model_validate(payload)
