"""Programs that receive signals."""

from typing import Final

PROGRAMS: Final = {
    **{
        f"dies of {name}": f"say('now'); os.kill(os.getpid(), signal.{name}); time.sleep(5)"
        for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU")
    },
    "is interrupted while it sleeps": """
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
time.sleep(5)
""",
    "is interrupted while it launches": """
signal.signal(signal.SIGINT, lambda *_: sys.exit(5))
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
while True: launch().wait()
""",
    "catches an interrupt": """
try: os.kill(os.getpid(), signal.SIGINT); time.sleep(5)
except KeyboardInterrupt: say("caught")
""",
    "ignores an interrupt": """
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGINT); time.sleep(0.05); say("goes on")
""",
    "handles a signal by launching": """
signal.signal(signal.SIGTERM, lambda number, _: say("got", number, launch().wait()))
for _ in range(3): os.kill(os.getpid(), signal.SIGTERM); launch().wait()
""",
    "raises from a timer": """
class Timeout(Exception): pass
def handler(*_): raise Timeout("in time")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
while True: time.sleep(5)
""",
    "waits for a signal": """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
os.kill(os.getpid(), 0)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
say(signal.sigpending(), signal.sigwait({signal.SIGUSR1}))
""",
    "asks for handlers and mask": """
say([(number, str(signal.getsignal(number))) for number in sorted(signal.valid_signals())
     if number != signal.SIGINT])
say(signal.pthread_sigmask(signal.SIG_BLOCK, set()))
say(*[line for line in open("/proc/self/status") if line.startswith(("SigIgn", "SigBlk", "SigPnd"))])
""",
    "has a wakeup descriptor": """
reader, writer = os.pipe(); os.set_blocking(writer, False)
signal.set_wakeup_fd(writer); signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1); launch().wait()
say(os.read(reader, 10))
""",
    "writes into a closed pipe": """
reader, writer = os.pipe(); os.close(reader)
try: os.write(writer, b"x")
except BrokenPipeError as error: say(error)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.write(writer, b"x")
""",
    "is told of a child's end": """
signal.signal(signal.SIGCHLD, lambda number, _: say("child", number))
child = os.spawnv(os.P_NOWAIT, "/bin/true", ["true"])
time.sleep(0.3); say(os.waitpid(child, 0)[1])
""",
    "is stopped and continued": """
child = os.fork()
if not child: time.sleep(0.1); os.kill(os.getppid(), signal.SIGCONT); os._exit(0)
os.kill(os.getpid(), signal.SIGSTOP); say("continued"); os.waitpid(child, 0)
""",
    "profiles by a signal": """
ticks = []
signal.signal(signal.SIGPROF, lambda *_: ticks.append(1))
signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
while len(ticks) < 5: launch().wait()
signal.setitimer(signal.ITIMER_PROF, 0); say("profiled")
""",
}
