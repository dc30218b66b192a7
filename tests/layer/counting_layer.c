/* An OpenCL layer that counts calls: what a program really asks of the loader, whoever asked.
 *
 * The loader hands a layer the table of entry points below it and takes a table in exchange. Ours
 * leads every counted entry through a few instructions that add one to a counter and jump on, so no
 * argument is touched and no signature is needed. The counters are a file (COUNTING_LAYER_FILE) that
 * is mapped into memory: they can be read at any time, and survive a process that is killed.
 *
 * The numbers are the positions of the entry points in the ICD's dispatch table, which is an ABI.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_ENTRIES 512
#define COUNTED \
    X(clCreateCommandQueue, 9) \
    X(clCreateBuffer, 14) \
    X(clCreateProgramWithSource, 26) \
    X(clCreateProgramWithBinary, 27) \
    X(clBuildProgram, 30) \
    X(clCreateKernel, 34) \
    X(clWaitForEvents, 41) \
    X(clFlush, 46) \
    X(clFinish, 47) \
    X(clEnqueueReadBuffer, 48) \
    X(clEnqueueWriteBuffer, 49) \
    X(clEnqueueCopyBuffer, 50) \
    X(clEnqueueReadImage, 51) \
    X(clEnqueueWriteImage, 52) \
    X(clEnqueueCopyImage, 53) \
    X(clEnqueueCopyImageToBuffer, 54) \
    X(clEnqueueCopyBufferToImage, 55) \
    X(clEnqueueMapBuffer, 56) \
    X(clEnqueueMapImage, 57) \
    X(clEnqueueUnmapMemObject, 58) \
    X(clEnqueueNDRangeKernel, 59) \
    X(clEnqueueTask, 60) \
    X(clEnqueueNativeKernel, 61) \
    X(clEnqueueMarker, 62) \
    X(clEnqueueWaitForEvents, 63) \
    X(clEnqueueBarrier, 64) \
    X(clSetEventCallback, 81) \
    X(clCreateSubBuffer, 82) \
    X(clSetUserEventStatus, 85) \
    X(clEnqueueReadBufferRect, 86) \
    X(clEnqueueWriteBufferRect, 87) \
    X(clEnqueueCopyBufferRect, 88) \
    X(clCreateImage, 96) \
    X(clCreateProgramWithBuiltInKernels, 97) \
    X(clCompileProgram, 98) \
    X(clLinkProgram, 99) \
    X(clEnqueueFillBuffer, 102) \
    X(clEnqueueFillImage, 103) \
    X(clEnqueueMigrateMemObjects, 104) \
    X(clEnqueueMarkerWithWaitList, 105) \
    X(clEnqueueBarrierWithWaitList, 106) \
    X(clCreateCommandQueueWithProperties, 123) \
    X(clCreatePipe, 124) \
    X(clSVMAlloc, 126) \
    X(clSVMFree, 127) \
    X(clEnqueueSVMFree, 128) \
    X(clEnqueueSVMMemcpy, 129) \
    X(clEnqueueSVMMemFill, 130) \
    X(clEnqueueSVMMap, 131) \
    X(clEnqueueSVMUnmap, 132) \
    X(clCreateProgramWithIL, 138) \
    X(clEnqueueSVMMigrateMem, 139)

static uint64_t spare[MOST_ENTRIES];
uint64_t *counters __attribute__((visibility("hidden"))) = spare;
void *targets[MOST_ENTRIES] __attribute__((visibility("hidden")));
static void *table[MOST_ENTRIES];

#if defined(__x86_64__)
#define TRAMPOLINE(name, index) \
    void count_##name(void) __attribute__((visibility("hidden"))); \
    __asm__(".text\ncount_" #name ":\n" \
            "  movq counters(%rip), %r11\n" \
            "  lock incq (" #index " * 8)(%r11)\n" \
            "  jmp *(targets + " #index " * 8)(%rip)\n");
#else
#error "the counting layer knows x86-64 only"
#endif

#define X(name, index) TRAMPOLINE(name, index)
COUNTED
#undef X

static void map_counters(void)
{
    const char *path = getenv("COUNTING_LAYER_FILE");
    int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof spare) != 0)
        return;
    void *mapped = mmap(NULL, sizeof spare, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
        counters = mapped;
    close(file);
}

int clGetLayerInfo(unsigned name, size_t size, void *value, size_t *size_needed)
{
    const uint32_t version = 100; /* CL_LAYER_API_VERSION_100 */
    if (name != 0x4240)
        return -30;
    if (value && size >= sizeof version)
        memcpy(value, &version, sizeof version);
    if (size_needed)
        *size_needed = sizeof version;
    return 0;
}

int clInitLayer(unsigned entries, void *const *below, unsigned *entries_taken, void ***ours)
{
    unsigned count = entries < MOST_ENTRIES ? entries : MOST_ENTRIES;
    memcpy(targets, below, count * sizeof *targets);
    memcpy(table, below, count * sizeof *table);
    map_counters();
#define X(name, index) \
    if (index < count && below[index]) \
        table[index] = (void *)count_##name;
    COUNTED
#undef X
    *entries_taken = count;
    *ours = table;
    return 0;
}

int clInitLayerWithProperties(
    unsigned entries, void *const *below, unsigned *entries_taken, void ***ours, const uint64_t *properties)
{
    (void)properties;
    return clInitLayer(entries, below, entries_taken, ours);
}
