"""OpenCL entry points that a trace can name, and the kinds of the commands that they enqueue."""

from enum import IntEnum, StrEnum
from typing import Final


class CommandKind(StrEnum):
    """Kind of a command."""

    KERNEL = "kernel"
    WRITE = "write"
    READ = "read"
    COPY = "copy"
    FILL = "fill"
    MAP = "map"
    UNMAP = "unmap"
    MIGRATE = "migrate"
    FREE = "free"
    MARKER = "marker"
    BARRIER = "barrier"
    INTEROP = "interop"
    """Objects of another interface, or a function of the host."""


class Api(IntEnum):
    """OpenCL entry points that a trace can name. The numbers are stored: never change one."""

    clEnqueueNDRangeKernel = 1
    clEnqueueReadBuffer = 2
    clEnqueueWriteBuffer = 3
    clEnqueueCopyBuffer = 4
    clEnqueueReadBufferRect = 5
    clEnqueueWriteBufferRect = 6
    clEnqueueCopyBufferRect = 7
    clEnqueueFillBuffer = 8
    clEnqueueReadImage = 9
    clEnqueueWriteImage = 10
    clEnqueueCopyImage = 11
    clEnqueueCopyImageToBuffer = 12
    clEnqueueCopyBufferToImage = 13
    clEnqueueFillImage = 14
    clEnqueueMapBuffer = 15
    clEnqueueMapImage = 16
    clEnqueueUnmapMemObject = 17
    clEnqueueMigrateMemObjects = 18
    clEnqueueMarker = 19
    clEnqueueMarkerWithWaitList = 20
    clEnqueueBarrier = 21
    clEnqueueBarrierWithWaitList = 22
    clEnqueueWaitForEvents = 23
    clEnqueueSVMMemcpy = 24
    clEnqueueSVMMemFill = 25
    clEnqueueSVMMap = 26
    clEnqueueSVMUnmap = 27
    clEnqueueSVMMigrateMem = 28
    clEnqueueSVMFree = 29
    clEnqueueCopyBufferP2PAMD = 30
    clEnqueueAcquireGLObjects = 31
    clEnqueueReleaseGLObjects = 32
    clEnqueueTask = 33
    clEnqueueNativeKernel = 34
    clFinish = 64
    clFlush = 65
    clWaitForEvents = 66
    clSetUserEventStatus = 67
    clSetEventCallback = 68
    clCreateUserEvent = 69
    clBuildProgram = 80
    clCompileProgram = 81
    clLinkProgram = 82
    clCreateProgramWithSource = 83
    clCreateProgramWithBinary = 84
    clCreateProgramWithIL = 85
    clCreateProgramWithBuiltInKernels = 86
    clCreateKernel = 87
    clSetKernelArg = 88
    clSetKernelArgSVMPointer = 89
    clCloneKernel = 90
    clCreateKernelsInProgram = 91
    clCreateCommandQueue = 96
    clCreateBuffer = 97
    clCreateSubBuffer = 98
    clCreateImage = 99
    clCreatePipe = 100
    clSVMAlloc = 101
    clSVMFree = 102
    clReleaseMemObject = 103
    clCreateContext = 104
    clCreateContextFromType = 105
    clCreateSubDevices = 106
    clCreateCommandQueueWithProperties = 107
    clCreateBufferWithProperties = 108
    clCreateImageWithProperties = 109
    clCreateImage2D = 110
    clCreateImage3D = 111


COMMAND_KINDS: Final[dict[Api, CommandKind]] = {
    Api.clEnqueueNDRangeKernel: CommandKind.KERNEL,
    Api.clEnqueueReadBuffer: CommandKind.READ,
    Api.clEnqueueWriteBuffer: CommandKind.WRITE,
    Api.clEnqueueCopyBuffer: CommandKind.COPY,
    Api.clEnqueueReadBufferRect: CommandKind.READ,
    Api.clEnqueueWriteBufferRect: CommandKind.WRITE,
    Api.clEnqueueCopyBufferRect: CommandKind.COPY,
    Api.clEnqueueFillBuffer: CommandKind.FILL,
    Api.clEnqueueReadImage: CommandKind.READ,
    Api.clEnqueueWriteImage: CommandKind.WRITE,
    Api.clEnqueueCopyImage: CommandKind.COPY,
    Api.clEnqueueCopyImageToBuffer: CommandKind.COPY,
    Api.clEnqueueCopyBufferToImage: CommandKind.COPY,
    Api.clEnqueueFillImage: CommandKind.FILL,
    Api.clEnqueueMapBuffer: CommandKind.MAP,
    Api.clEnqueueMapImage: CommandKind.MAP,
    Api.clEnqueueUnmapMemObject: CommandKind.UNMAP,
    Api.clEnqueueMigrateMemObjects: CommandKind.MIGRATE,
    Api.clEnqueueMarker: CommandKind.MARKER,
    Api.clEnqueueMarkerWithWaitList: CommandKind.MARKER,
    Api.clEnqueueBarrier: CommandKind.BARRIER,
    Api.clEnqueueBarrierWithWaitList: CommandKind.BARRIER,
    Api.clEnqueueWaitForEvents: CommandKind.BARRIER,
    Api.clEnqueueSVMMemcpy: CommandKind.COPY,
    Api.clEnqueueSVMMemFill: CommandKind.FILL,
    Api.clEnqueueSVMMap: CommandKind.MAP,
    Api.clEnqueueSVMUnmap: CommandKind.UNMAP,
    Api.clEnqueueSVMMigrateMem: CommandKind.MIGRATE,
    Api.clEnqueueSVMFree: CommandKind.FREE,
    Api.clEnqueueCopyBufferP2PAMD: CommandKind.COPY,
    Api.clEnqueueAcquireGLObjects: CommandKind.INTEROP,
    Api.clEnqueueReleaseGLObjects: CommandKind.INTEROP,
    Api.clEnqueueTask: CommandKind.KERNEL,
    Api.clEnqueueNativeKernel: CommandKind.INTEROP,
}
"""Kinds of the commands that entry points enqueue. Other entry points are not in it."""
