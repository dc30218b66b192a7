#include "transfers.h"

#include "commands.h"
#include "contents.h"
#include "memory.h"
#include "repeats.h"

static int64_t product(const size_t *region)
{
    return region == NULL ? -1 : (int64_t)(region[0] * region[1] * region[2]);
}

/* Bytes of a region of pixels. -1: unknown. */
static int64_t image_bytes(cl_mem image, const size_t *region)
{
    const int64_t element_bytes = memory_element_bytes(image);
    return element_bytes == 0 || region == NULL ? -1 : product(region) * element_bytes;
}

/* Offset of a rectangle in a buffer. A pitch of 0 means that rows touch. */
static int64_t rect_offset(
    const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch)
{
    if (origin == NULL || region == NULL)
        return 0;
    const size_t row = row_pitch ? row_pitch : region[0];
    const size_t slice = slice_pitch ? slice_pitch : row * region[1];
    return (int64_t)(origin[2] * slice + origin[1] * row + origin[0]);
}

static void set_memory(struct call *call, cl_mem source, cl_mem destination, int64_t size_bytes)
{
    memory_ensure_recorded(source);
    memory_ensure_recorded(destination);
    call->row[CALL_SOURCE] = handle_word(source);
    call->row[CALL_TARGET] = handle_word(destination);
    call->row[CALL_SIZE] = size_bytes;
}

static void set_addresses(
    struct call *call, const void *source, const void *destination, int64_t size_bytes)
{
    call->row[CALL_SOURCE] = handle_word(source);
    call->row[CALL_TARGET] = handle_word(destination);
    call->row[CALL_SIZE] = size_bytes;
}

static void set_offsets(struct call *call, int64_t source_bytes, int64_t target_bytes)
{
    call->row[CALL_SOURCE_OFFSET] = source_bytes;
    call->row[CALL_TARGET_OFFSET] = target_bytes;
}

static void set_blocking(struct call *call, cl_uint blocking)
{
    if (blocking)
        call->row[CALL_FLAGS] |= CALL_BLOCKING;
}

static void set_map(struct call *call, cl_uint blocking, cl_bitfield flags)
{
    set_blocking(call, blocking);
    if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
        call->row[CALL_FLAGS] |= CALL_MAP_WRITE;
}

static void set_migration(struct call *call, cl_bitfield flags)
{
    if (flags & CL_MIGRATE_MEM_OBJECT_HOST)
        call->row[CALL_FLAGS] |= CALL_TO_HOST;
}

/* Buffers */

cl_int layer_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset,
                                 size_t size, void *host, cl_uint wait_count, cl_waits waits,
                                 cl_event *event)
{
    BEGIN_COMMAND(clEnqueueReadBuffer);
    if (is_recorded) {
        set_memory(&call, buffer, NULL, (int64_t)size);
        set_offsets(&call, (int64_t)offset, 0);
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueReadBuffer(
        queue, buffer, blocking, offset, size, host, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset,
                                  size_t size, const void *host, cl_uint wait_count, cl_waits waits,
                                  cl_event *event)
{
    BEGIN_COMMAND(clEnqueueWriteBuffer);
    if (is_recorded) {
        set_memory(&call, NULL, buffer, (int64_t)size);
        set_offsets(&call, 0, (int64_t)offset);
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueWriteBuffer(
        queue, buffer, blocking, offset, size, host, wait_count, waits, event_place);
    if (is_recorded)
        call_return(&call);
    if (status == CL_SUCCESS)
        contents_written(buffer, offset, size, host);
    if (!is_recorded)
        return status;
    if (status == CL_SUCCESS)
        note_written_data(&call, host, size);
    call_record(&call, status);
    return status;
}

cl_int layer_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem destination,
                                 size_t source_offset, size_t target_offset, size_t size,
                                 cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueCopyBuffer);
    contents_lost(destination);
    if (is_recorded) {
        set_memory(&call, source, destination, (int64_t)size);
        set_offsets(&call, (int64_t)source_offset, (int64_t)target_offset);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueCopyBuffer(queue, source, destination, source_offset,
                                                     target_offset, size, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_uint blocking,
                                     const size_t *buffer_origin, const size_t *host_origin,
                                     const size_t *region, size_t buffer_row, size_t buffer_slice,
                                     size_t host_row, size_t host_slice, void *host, cl_uint wait_count,
                                     cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueReadBufferRect);
    if (is_recorded) {
        set_memory(&call, buffer, NULL, product(region));
        set_offsets(&call, rect_offset(buffer_origin, region, buffer_row, buffer_slice), 0);
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueReadBufferRect(
        queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
        host_slice, host, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_uint blocking,
                                      const size_t *buffer_origin, const size_t *host_origin,
                                      const size_t *region, size_t buffer_row, size_t buffer_slice,
                                      size_t host_row, size_t host_slice, const void *host,
                                      cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueWriteBufferRect);
    contents_lost(buffer);
    if (is_recorded) {
        set_memory(&call, NULL, buffer, product(region));
        set_offsets(&call, 0, rect_offset(buffer_origin, region, buffer_row, buffer_slice));
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueWriteBufferRect(
        queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
        host_slice, host, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination,
                                     const size_t *source_origin, const size_t *target_origin,
                                     const size_t *region, size_t source_row, size_t source_slice,
                                     size_t target_row, size_t target_slice, cl_uint wait_count,
                                     cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueCopyBufferRect);
    contents_lost(destination);
    if (is_recorded) {
        set_memory(&call, source, destination, product(region));
        set_offsets(&call, rect_offset(source_origin, region, source_row, source_slice),
                    rect_offset(target_origin, region, target_row, target_slice));
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueCopyBufferRect(
        queue, source, destination, source_origin, target_origin, region, source_row, source_slice,
        target_row, target_slice, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                 size_t pattern_size, size_t offset, size_t size, cl_uint wait_count,
                                 cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueFillBuffer);
    contents_lost(buffer);
    if (is_recorded) {
        set_memory(&call, NULL, buffer, (int64_t)size);
        set_offsets(&call, 0, (int64_t)offset);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueFillBuffer(
        queue, buffer, pattern, pattern_size, offset, size, wait_count, waits, event_place);
    END_COMMAND(status);
}

/* Images */

cl_int layer_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_uint blocking,
                                const size_t *origin, const size_t *region, size_t row_pitch,
                                size_t slice_pitch, void *host, cl_uint wait_count, cl_waits waits,
                                cl_event *event)
{
    BEGIN_COMMAND(clEnqueueReadImage);
    if (is_recorded) {
        set_memory(&call, image, NULL, image_bytes(image, region));
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueReadImage(queue, image, blocking, origin, region, row_pitch, slice_pitch, host,
                                  wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_uint blocking,
                                 const size_t *origin, const size_t *region, size_t row_pitch,
                                 size_t slice_pitch, const void *host, cl_uint wait_count, cl_waits waits,
                                 cl_event *event)
{
    BEGIN_COMMAND(clEnqueueWriteImage);
    if (is_recorded) {
        set_memory(&call, NULL, image, image_bytes(image, region));
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueWriteImage(queue, image, blocking, origin, region, row_pitch, slice_pitch, host,
                                   wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem destination,
                                const size_t *source_origin, const size_t *target_origin,
                                const size_t *region, cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueCopyImage);
    if (is_recorded)
        set_memory(&call, source, destination, image_bytes(source, region));
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueCopyImage(queue, source, destination, source_origin,
                                                    target_origin, region, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem source, cl_mem destination,
                                        const size_t *origin, const size_t *region, size_t offset,
                                        cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueCopyImageToBuffer);
    contents_lost(destination);
    if (is_recorded) {
        set_memory(&call, source, destination, image_bytes(source, region));
        set_offsets(&call, 0, (int64_t)offset);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueCopyImageToBuffer(
        queue, source, destination, origin, region, offset, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem source, cl_mem destination,
                                        size_t offset, const size_t *origin, const size_t *region,
                                        cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueCopyBufferToImage);
    if (is_recorded) {
        set_memory(&call, source, destination, image_bytes(destination, region));
        set_offsets(&call, (int64_t)offset, 0);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueCopyBufferToImage(
        queue, source, destination, offset, origin, region, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color,
                                const size_t *origin, const size_t *region, cl_uint wait_count,
                                cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueFillImage);
    if (is_recorded)
        set_memory(&call, NULL, image, image_bytes(image, region));
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueFillImage(queue, image, color, origin, region, wait_count, waits, event_place);
    END_COMMAND(status);
}

/* Migration, and objects of other interfaces */

cl_int layer_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                        cl_bitfield flags, cl_uint wait_count, cl_waits waits,
                                        cl_event *event)
{
    BEGIN_COMMAND(clEnqueueMigrateMemObjects);
    if (is_recorded && objects != NULL) {
        int64_t size_bytes = 0;
        for (cl_uint i = 0; i < count; i++)
            size_bytes += memory_size_bytes(objects[i]);
        set_memory(&call, NULL, count == 1 ? objects[0] : NULL, size_bytes);
        set_migration(&call, flags);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueMigrateMemObjects(
        queue, count, objects, flags, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueAcquireGLObjects(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                       cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueAcquireGLObjects);
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueAcquireGLObjects(queue, count, objects, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueReleaseGLObjects(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                       cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueReleaseGLObjects);
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueReleaseGLObjects(queue, count, objects, wait_count, waits, event_place);
    END_COMMAND(status);
}

/* Maps */

void *layer_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, cl_bitfield flags,
                               size_t offset, size_t size, cl_uint wait_count, cl_waits waits,
                               cl_event *event, cl_int *status_return)
{
    cl_int status = CL_SUCCESS;
    BEGIN_COMMAND(clEnqueueMapBuffer);
    if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
        contents_lost(buffer);
    if (is_recorded) {
        set_memory(&call, buffer, buffer, (int64_t)size);
        set_offsets(&call, (int64_t)offset, (int64_t)offset);
        set_map(&call, blocking, flags);
    }
    ENTER_COMMAND();
    void *address = target.clEnqueueMapBuffer(
        queue, buffer, blocking, flags, offset, size, wait_count, waits, event_place, &status);
    if (is_recorded)
        call_end(&call, status);
    if (status == CL_SUCCESS)
        memory_mapped(address, (int64_t)size);
    if (status_return != NULL)
        *status_return = status;
    return address;
}

void *layer_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_uint blocking, cl_bitfield flags,
                              const size_t *origin, const size_t *region, size_t *row_pitch,
                              size_t *slice_pitch, cl_uint wait_count, cl_waits waits, cl_event *event,
                              cl_int *status_return)
{
    cl_int status = CL_SUCCESS;
    BEGIN_COMMAND(clEnqueueMapImage);
    if (is_recorded) {
        set_memory(&call, image, image, image_bytes(image, region));
        set_map(&call, blocking, flags);
    }
    ENTER_COMMAND();
    void *address =
        target.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row_pitch, slice_pitch,
                                 wait_count, waits, event_place, &status);
    if (is_recorded)
        call_end(&call, status);
    if (status == CL_SUCCESS)
        memory_mapped(address, image_bytes(image, region));
    if (status_return != NULL)
        *status_return = status;
    return address;
}

cl_int layer_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *address,
                                     cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueUnmapMemObject);
    if (is_recorded)
        set_memory(&call, NULL, memory, memory_mapped_bytes(address));
    ENTER_COMMAND();
    const cl_int status =
        target.clEnqueueUnmapMemObject(queue, memory, address, wait_count, waits, event_place);
    END_COMMAND(status);
}

/* Shared virtual memory */

cl_int layer_clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void **addresses,
                              cl_svm_free_callback free_callback, void *user_data, cl_uint wait_count,
                              cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueSVMFree);
    if (is_recorded && addresses != NULL)
        set_addresses(&call, NULL, count == 1 ? addresses[0] : NULL, -1);
    ENTER_COMMAND();
    const int64_t freed_ns = now_host_ns();
    const cl_int status = target.clEnqueueSVMFree(
        queue, count, addresses, free_callback, user_data, wait_count, waits, event_place);
    for (cl_uint i = 0; status == CL_SUCCESS && addresses != NULL && i < count; i++)
        memory_svm_freed(addresses[i], freed_ns);
    END_COMMAND(status);
}

cl_int layer_clEnqueueSVMMemcpy(cl_command_queue queue, cl_uint blocking, void *destination,
                                const void *source, size_t size, cl_uint wait_count, cl_waits waits,
                                cl_event *event)
{
    BEGIN_COMMAND(clEnqueueSVMMemcpy);
    if (is_recorded) {
        set_addresses(&call, source, destination, (int64_t)size);
        set_blocking(&call, blocking);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueSVMMemcpy(
        queue, blocking, destination, source, size, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueSVMMemFill(cl_command_queue queue, void *address, const void *pattern,
                                 size_t pattern_size, size_t size, cl_uint wait_count, cl_waits waits,
                                 cl_event *event)
{
    BEGIN_COMMAND(clEnqueueSVMMemFill);
    if (is_recorded)
        set_addresses(&call, NULL, address, (int64_t)size);
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueSVMMemFill(
        queue, address, pattern, pattern_size, size, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueSVMMap(cl_command_queue queue, cl_uint blocking, cl_bitfield flags, void *address,
                             size_t size, cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueSVMMap);
    if (is_recorded) {
        set_addresses(&call, address, address, (int64_t)size);
        set_map(&call, blocking, flags);
    }
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueSVMMap(
        queue, blocking, flags, address, size, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueSVMUnmap(
    cl_command_queue queue, void *address, cl_uint wait_count, cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueSVMUnmap);
    if (is_recorded)
        set_addresses(&call, address, address, -1);
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueSVMUnmap(queue, address, wait_count, waits, event_place);
    END_COMMAND(status);
}

cl_int layer_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint count, const void **addresses,
                                    const size_t *sizes, cl_bitfield flags, cl_uint wait_count,
                                    cl_waits waits, cl_event *event)
{
    BEGIN_COMMAND(clEnqueueSVMMigrateMem);
    if (is_recorded && addresses != NULL)
        set_addresses(&call, NULL, count == 1 ? addresses[0] : NULL, -1);
    if (is_recorded)
        set_migration(&call, flags);
    ENTER_COMMAND();
    const cl_int status = target.clEnqueueSVMMigrateMem(
        queue, count, addresses, sizes, flags, wait_count, waits, event_place);
    END_COMMAND(status);
}
