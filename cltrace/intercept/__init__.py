"""Code inside the traced program: cheap, careful, and the only room that imports pyopencl to trace it.

A call of the program goes through a hook (`hooks`), which takes two clock readings and appends to flat
lists (`sink`). A thread (`drain`) writes the lists to the spool every few tens of milliseconds and reads
the device's stamps of complete commands. Nothing here prints, and no fault here reaches the program: the
first fault stops the tracing and is reported at the end.
"""
