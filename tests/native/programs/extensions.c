/* Asks for functions of extensions, some of them twice, and prints which it gets. */
#include "common.h"

int main(void)
{
    static const char *const names[] = {
        "clEnqueueTestEXT", "clEnqueueTestEXT", "clGetTestEXT", "clEnqueueAbsentEXT"};
    struct world world = make_world(0);
    cl_platform_id platform;
    CHECK(CL(clGetPlatformIDs)(1, &platform, NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        printf("%d", CL(clGetExtensionFunctionAddressForPlatform)(platform, names[i]) != NULL);
    printf("\n");
    launch(&world, 16);
    release_world(&world);
    return 0;
}
