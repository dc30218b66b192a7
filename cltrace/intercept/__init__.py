"""What runs inside the traced program: cheap, careful, and the one room that knows pyopencl.

A call of the program goes through a hook (`patches`, `launches`), which takes two clock readings and
appends to flat lists (`sink`). A thread (`drain`) writes the lists to the spool every few tens of
milliseconds and reads the device's stamps of what is complete. Nothing here prints, and nothing that
goes wrong here reaches the program: the first fault turns tracing off and is told at the end.
"""
