"""Which rank of a parallel run this process is, from what its launcher put into the environment."""

from collections.abc import Mapping
from typing import Final

RANK_VARIABLES: Final = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
"""Open MPI, MPICH and Intel MPI, anything on PMIx, Slurm."""


def rank_of(environment: Mapping[str, str]) -> int | None:
    """The rank, or `None` outside a parallel run."""
    for name in RANK_VARIABLES:
        value = environment.get(name, "")
        if value.isascii() and value.isdigit():
            return int(value)
    return None
