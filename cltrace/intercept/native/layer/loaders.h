/* Loaders of OpenCL that come into the process beside the first. */
#ifndef CLTRACE_LOADERS_H
#define CLTRACE_LOADERS_H

/* Makes loaders that were loaded since the last call take the layer in.

   A loader reads its layers when it is first asked for platforms. A library may never ask, because it
   works on the objects of another loader: its calls would pass by the layer. */
void loaders_adopt(void);

/* Keeps the module at an address in the process: the layer calls it even after the program has closed it. */
void loaders_keep(const void *address);

void loaders_forked(void);

#endif
