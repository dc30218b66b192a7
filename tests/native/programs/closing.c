/* Launches, and closes the loader's drivers before it returns. */
#include <unistd.h>

#include "common.h"

int main(void)
{
    struct world world = make_world(0);
    for (int i = 0; i < 50; i++)
        launch(&world, 16);
    CHECK(CL(clFinish)(world.queue));
    ((void (*)(void))entry_point("deinitialise_loader"))();
    usleep(100000); /* the layer's threads have their turn */
    return 3;
}
