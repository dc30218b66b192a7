"""Starts another Python process that does OpenCL work, in the way that its first argument says."""

import multiprocessing
import os
import pathlib
import subprocess
import sys

WORK = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void tick(global int *a) { a[0]++; }").build(), "tick")
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
for _ in range(5):
    kernel(queue, (1,), None, memory)
queue.finish()
"""

WAIT = """
import pathlib, time
while not pathlib.Path("go-on").exists():
    time.sleep(0.05)
"""


def work(_: int = 0) -> None:
    exec(WORK, {})


def main(how: str) -> None:
    if how == "subprocess":
        subprocess.run([sys.executable, "-c", WORK], check=True)
    elif how == "system":
        os.chdir("/")
        os.environ["WORK"] = WORK
        os.system(f'{sys.executable} -c "$WORK"')
    elif how == "exec":
        os.execv(sys.executable, [sys.executable, "-c", WORK])
    elif how == "isolated":
        subprocess.run([sys.executable, "-I", "-c", WORK], check=True)
    elif how == "no-environment":
        subprocess.run([sys.executable, "-c", WORK], check=True, env={"PATH": os.environ["PATH"]})
    elif how == "raw-fork":
        pid = os.fork()
        if pid == 0:
            work()
            os._exit(0)
        os.waitpid(pid, 0)
    elif how == "fork-after":
        work()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    elif how == "outlive":
        code = f"{WORK}\nprint('ready', flush=True)\n{WAIT}\n{WORK}"
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # whoever reads this program's errors does not wait for it
            text=True,
        )
        child.stdout.readline()
        pathlib.Path("child").write_text(str(child.pid))
        work()
    else:
        context = multiprocessing.get_context(how)
        with context.Pool(2) as pool:
            pool.map(work, range(4), chunksize=1)
            pool.close()
            pool.join()


if __name__ == "__main__":
    main(sys.argv[1])
    print("parent done")
