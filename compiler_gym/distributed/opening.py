"""The choice of a pool."""

from compiler_gym.distributed.pool import Limits, Pool


def open_pool(ray: str | None = None, limits: Limits | None = None) -> Pool:
    """Returns a pool.

    Args:
        ray: None for processes of this machine. Otherwise the address of a Ray cluster, "auto" for
            that which this machine belongs to, or "local" to start Ray on this machine only.
        limits: The limits.

    Raises:
        EnvironmentNotSupported: If Ray is to be used, and is not installed.
        PoolError: If there is no such cluster.
    """
    if ray is None:
        from compiler_gym.distributed.local import LocalBackend

        return Pool(LocalBackend(), limits)
    from compiler_gym.distributed.ray_backend import RayBackend

    return Pool(RayBackend(ray), limits)
