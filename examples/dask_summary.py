"""Kernels of a parallel run, summed over its Parquet dataset by Dask.

    python examples/dask_summary.py DATASET [SCHEDULER]

DATASET is an export to Parquet, or a directory of one export a rank. Without the address of a scheduler
two workers are started on this machine. Needs `pip install 'dask[dataframe,distributed]' pyarrow`.
"""

import sys
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def kernel_sums(dataset: Path) -> pd.DataFrame:
    """Launches and time on the device of each kernel of each rank, in ns."""
    files = sorted(map(str, dataset.glob("**/v_command/*/*.parquet")))
    commands = dd.read_parquet(files, columns=["rank", "kernel", "duration_ns"])
    launches = commands[commands.kernel.notnull()]
    sums = launches.groupby(["rank", "kernel"], observed=True).duration_ns.agg(["count", "sum"])
    return sums.compute().sort_index()


def main() -> None:
    """Print the sums."""
    dataset, *address = sys.argv[1:]
    if address:
        with Client(address[0]):
            print(kernel_sums(Path(dataset)).to_csv(), end="")
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
        ):
            print(kernel_sums(Path(dataset)).to_csv(), end="")


if __name__ == "__main__":
    main()
