"""The observations of the LLVM environments that are computed from others in this process."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler_gym.envs.llvm.specs import AUTOPHASE_FEATURE_NAMES, INST_COUNT_FEATURE_NAMES
from compiler_gym.spaces import Box, Dict, Scalar

_COUNT_NAMES = tuple(f"{name}Count" for name in INST_COUNT_FEATURE_NAMES)
# The total of instructions, which the others are divided by, is left out.
_DENSITY_NAMES = tuple(f"{name}Density" for name in INST_COUNT_FEATURE_NAMES[1:])


def inst_count_dict(counts: np.ndarray) -> dict[str, int]:
    """Names the elements of the InstCount vector: int64[70] to ``{"TotalInstsCount": ...}``."""
    return dict(zip(_COUNT_NAMES, counts.tolist(), strict=True))


def inst_count_norm(counts: np.ndarray) -> np.ndarray:
    """Divides the InstCount vector by its first element, the number of instructions.

    Args:
        counts: int64[70].

    Returns:
        float32[69], for all elements but the first, in the range 0 to 1. The share of functions,
        which alone can be greater, is 1 if there are more functions than instructions. Zeros if
        there are no instructions.
    """
    total = max(int(counts[0]), 1)
    return np.minimum(counts[1:] / total, 1).astype(np.float32)


def inst_count_norm_dict(densities: np.ndarray) -> dict[str, float]:
    """Names the elements of InstCountNorm: float32[69] to ``{"TotalBlocksDensity": ...}``."""
    return dict(zip(_DENSITY_NAMES, densities.tolist(), strict=True))


def autophase_dict(features: np.ndarray) -> dict[str, int]:
    """Names the elements of the Autophase vector: int64[56] to ``{"BBNumArgsHi": ...}``."""
    return dict(zip(AUTOPHASE_FEATURE_NAMES, features.tolist(), strict=True))


def derived_observation_spaces() -> list[dict[str, Any]]:
    """Returns the arguments of ``ObservationView.add_derived_space`` for each observation."""
    return [
        {
            "id": "InstCountDict",
            "base_id": "InstCount",
            "translate": inst_count_dict,
            "space": _dict_space("InstCountDict", _COUNT_NAMES, dtype=np.int64),
        },
        {
            "id": "InstCountNorm",
            "base_id": "InstCount",
            "translate": inst_count_norm,
            "space": Box(
                low=0, high=1, shape=(len(_DENSITY_NAMES),), dtype=np.float32, name="InstCountNorm"
            ),
        },
        {
            "id": "InstCountNormDict",
            "base_id": "InstCountNorm",
            "translate": inst_count_norm_dict,
            "space": _dict_space("InstCountNormDict", _DENSITY_NAMES, dtype=np.float64, max=1.0),
        },
        {
            "id": "AutophaseDict",
            "base_id": "Autophase",
            "translate": autophase_dict,
            "space": _dict_space("AutophaseDict", AUTOPHASE_FEATURE_NAMES, dtype=np.int64),
        },
    ]


def _dict_space(
    name: str, keys: Sequence[str], dtype: type[np.generic], max: float | None = None
) -> Dict:
    return Dict({key: Scalar(name=key, min=0, max=max, dtype=dtype) for key in keys}, name=name)
