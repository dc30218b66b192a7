"""Energy model: predicted energy of a launch, from its counts and a table of energies by class.

The form is that of Piispanen, Timing and energy of accelerated processing (2014), section 6.1: counts of
instruction classes times their energies, above the power of the device's state; active compute units add
to it (equations 6.3 to 6.9). `E_total = E_CPU + E_GPU + E_transfer` (6.1).
"""

from cltrace.power.model.classes import Caches, EnergyWork, Operations, work_of
from cltrace.power.model.fitting import EnergyModel, Example, fit_energies, model_of
from cltrace.power.model.rows import GROUPS, group_of

__all__ = [
    "GROUPS",
    "Caches",
    "EnergyModel",
    "EnergyWork",
    "Example",
    "Operations",
    "fit_energies",
    "group_of",
    "model_of",
    "work_of",
]
