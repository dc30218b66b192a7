"""Names of the hardware counters that are read, as Nsight Compute calls them on a GPU of NVIDIA."""

from typing import Final

_STALLS: Final = (
    "barrier", "branch_resolve", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
_GLOBAL_OPERATIONS: Final = ("global_op_ld", "global_op_st", "global_op_atom", "global_op_red")
_LOCAL_OPERATIONS: Final = ("local_op_ld", "local_op_st")
_SHARED_OPERATIONS: Final = ("op_ld", "op_st", "op_atom")
_PIPES: Final = ("alu", "fma", "fmaheavy", "fp64", "lsu", "xu", "uniform", "adu", "cbu")
_THREAD_OPERATIONS: Final = (
    "ffma", "fadd", "fmul", "dfma", "dadd", "dmul", "integer", "conversion", "bit", "control",
    "memory", "inter_thread_communication", "misc", "fp32", "fp64",
)  # fmt: skip

_L1: Final = (
    *(
        f"l1tex__t_{quantity}_pipe_lsu_mem_{operation}.sum"
        for operation in (*_GLOBAL_OPERATIONS, *_LOCAL_OPERATIONS)
        for quantity in ("requests", "sectors")
    ),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "l1tex__m_l1tex2xbar_write_sectors.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__data_bank_conflicts_pipe_lsu.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
)
_SHARED: Final = tuple(
    f"l1tex__data_{quantity}_mem_shared_{operation}.sum"
    for operation in _SHARED_OPERATIONS
    for quantity in ("bank_conflicts_pipe_lsu", "pipe_lsu_wavefronts")
)
_L2: Final = (
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_op_atom.sum",
    "lts__t_sectors_op_red.sum",
    "lts__t_sectors_lookup_hit.sum",
    "lts__t_sectors_lookup_miss.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "lts__t_requests_srcunit_tex.sum",
)
_MEMORY: Final = ("dram__bytes_read.sum", "dram__bytes_write.sum")
_TIMES: Final = ("gpu__time_duration.sum",)
_UNITS: Final = (
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__cycles_active.avg",
    "sm__cycles_elapsed.max",
    "smsp__cycles_active.avg",
    "smsp__cycles_active.max",
    "smsp__warps_launched.sum",
    "smsp__inst_executed.sum",
    "smsp__inst_issued.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__average_warp_latency_per_inst_issued.ratio",
    *(f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in _STALLS),
    *(f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in _PIPES),
    *(f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum" for name in _THREAD_OPERATIONS),
)
_LAUNCH: Final = (
    "launch__registers_per_thread",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__waves_per_multiprocessor",
    "launch__shared_mem_config_size",
    "launch__shared_mem_per_block_dynamic",
    "launch__shared_mem_per_block_driver",
    "launch__shared_mem_per_block_static",
    "launch__grid_size",
    "launch__block_size",
)

COLD_METRICS: Final = (*_L1, *_SHARED, *_L2, *_MEMORY, *_UNITS, *_LAUNCH, *_TIMES)
"""Counters of a launch with the job's own contents. They need many passes, and the profiler restores
memory between them, so caches are not in the state of a repeated launch."""
WARM_METRICS: Final = (
    *_MEMORY,
    *_TIMES,
    "lts__t_sectors_lookup_hit.sum",
    "lts__t_sectors_lookup_miss.sum",
)
"""Counters of a repeated launch: few enough for one pass, before which nothing is restored."""
DESCRIBING_PREFIXES: Final = ("launch__", "sm__maximum_warps")
"""Beginnings of metrics that describe a launch; the profiler has them and does not list them."""
