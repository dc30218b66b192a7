"""Rank of this process in a parallel run, read from the environment that its launcher set."""

from collections.abc import Mapping
from typing import Final

RANK_VARIABLES: Final = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
"""Open MPI, MPICH and Intel MPI, anything on PMIx, Slurm."""


def rank_of(environment: Mapping[str, str]) -> int | None:
    """Return the rank, or `None` outside a parallel run."""
    for name in RANK_VARIABLES:
        value = environment.get(name, "")
        if value.isascii() and value.isdigit():
            return int(value)
    return None


_JOB_VARIABLES: Final = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID")


def job_of(environment: Mapping[str, str], parent_pid: int) -> str:
    """Return a text that identifies a parallel run on this host: its launcher's name for it.

    Without such a name the run is identified by the process that started its ranks here, `parent_pid`.
    """
    names = (f"{name}={environment[name]}" for name in _JOB_VARIABLES if environment.get(name))
    step = environment.get("SLURM_STEP_ID", "")
    return f"{next(names, f'parent {parent_pid}')} {step}"
