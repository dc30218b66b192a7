/* Types, constants and macros that OpenCL C predefines. Functions are declared by clang itself
 * (-fdeclare-opencl-builtins). After OpenCL C 3.0, sections 6.3, 6.11, 6.12, 6.13 and 6.15. */
#ifndef CLTRACE_PRELUDE_H
#define CLTRACE_PRELUDE_H

/* The version of the device. A trace tells its own. */
#ifndef __OPENCL_VERSION__
#define __OPENCL_VERSION__ 300
#endif

#define __opencl_c_named_address_space_builtins 1
#if __OPENCL_C_VERSION__ >= 200 && !defined(__opencl_c_work_group_collective_functions)
#define __opencl_c_work_group_collective_functions 1
#endif

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define CLTRACE_VECTORS(type) \
  typedef type type##2 __attribute__((ext_vector_type(2))); \
  typedef type type##3 __attribute__((ext_vector_type(3))); \
  typedef type type##4 __attribute__((ext_vector_type(4))); \
  typedef type type##8 __attribute__((ext_vector_type(8))); \
  typedef type type##16 __attribute__((ext_vector_type(16)));
CLTRACE_VECTORS(char)
CLTRACE_VECTORS(uchar)
CLTRACE_VECTORS(short)
CLTRACE_VECTORS(ushort)
CLTRACE_VECTORS(int)
CLTRACE_VECTORS(uint)
CLTRACE_VECTORS(long)
CLTRACE_VECTORS(ulong)
CLTRACE_VECTORS(float)
#ifdef cl_khr_fp64
#if __OPENCL_C_VERSION__ < CL_VERSION_1_2
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
CLTRACE_VECTORS(double)
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
CLTRACE_VECTORS(half)
#endif
#undef CLTRACE_VECTORS

#define NULL ((void *)0)

#define as_char(x) __builtin_astype((x), char)
#define as_uchar(x) __builtin_astype((x), uchar)
#define as_short(x) __builtin_astype((x), short)
#define as_ushort(x) __builtin_astype((x), ushort)
#define as_int(x) __builtin_astype((x), int)
#define as_uint(x) __builtin_astype((x), uint)
#define as_long(x) __builtin_astype((x), long)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_float(x) __builtin_astype((x), float)
#define as_char2(x) __builtin_astype((x), char2)
#define as_char3(x) __builtin_astype((x), char3)
#define as_char4(x) __builtin_astype((x), char4)
#define as_char8(x) __builtin_astype((x), char8)
#define as_char16(x) __builtin_astype((x), char16)
#define as_uchar2(x) __builtin_astype((x), uchar2)
#define as_uchar3(x) __builtin_astype((x), uchar3)
#define as_uchar4(x) __builtin_astype((x), uchar4)
#define as_uchar8(x) __builtin_astype((x), uchar8)
#define as_uchar16(x) __builtin_astype((x), uchar16)
#define as_short2(x) __builtin_astype((x), short2)
#define as_short3(x) __builtin_astype((x), short3)
#define as_short4(x) __builtin_astype((x), short4)
#define as_short8(x) __builtin_astype((x), short8)
#define as_short16(x) __builtin_astype((x), short16)
#define as_ushort2(x) __builtin_astype((x), ushort2)
#define as_ushort3(x) __builtin_astype((x), ushort3)
#define as_ushort4(x) __builtin_astype((x), ushort4)
#define as_ushort8(x) __builtin_astype((x), ushort8)
#define as_ushort16(x) __builtin_astype((x), ushort16)
#define as_int2(x) __builtin_astype((x), int2)
#define as_int3(x) __builtin_astype((x), int3)
#define as_int4(x) __builtin_astype((x), int4)
#define as_int8(x) __builtin_astype((x), int8)
#define as_int16(x) __builtin_astype((x), int16)
#define as_uint2(x) __builtin_astype((x), uint2)
#define as_uint3(x) __builtin_astype((x), uint3)
#define as_uint4(x) __builtin_astype((x), uint4)
#define as_uint8(x) __builtin_astype((x), uint8)
#define as_uint16(x) __builtin_astype((x), uint16)
#define as_long2(x) __builtin_astype((x), long2)
#define as_long3(x) __builtin_astype((x), long3)
#define as_long4(x) __builtin_astype((x), long4)
#define as_long8(x) __builtin_astype((x), long8)
#define as_long16(x) __builtin_astype((x), long16)
#define as_ulong2(x) __builtin_astype((x), ulong2)
#define as_ulong3(x) __builtin_astype((x), ulong3)
#define as_ulong4(x) __builtin_astype((x), ulong4)
#define as_ulong8(x) __builtin_astype((x), ulong8)
#define as_ulong16(x) __builtin_astype((x), ulong16)
#define as_float2(x) __builtin_astype((x), float2)
#define as_float3(x) __builtin_astype((x), float3)
#define as_float4(x) __builtin_astype((x), float4)
#define as_float8(x) __builtin_astype((x), float8)
#define as_float16(x) __builtin_astype((x), float16)
#ifdef cl_khr_fp64
#define as_double2(x) __builtin_astype((x), double2)
#define as_double3(x) __builtin_astype((x), double3)
#define as_double4(x) __builtin_astype((x), double4)
#define as_double8(x) __builtin_astype((x), double8)
#define as_double16(x) __builtin_astype((x), double16)
#endif
#ifdef cl_khr_fp16
#define as_half2(x) __builtin_astype((x), half2)
#define as_half3(x) __builtin_astype((x), half3)
#define as_half4(x) __builtin_astype((x), half4)
#define as_half8(x) __builtin_astype((x), half8)
#define as_half16(x) __builtin_astype((x), half16)
#endif
#define as_size_t(x) __builtin_astype((x), size_t)
#define as_ptrdiff_t(x) __builtin_astype((x), ptrdiff_t)
#define as_intptr_t(x) __builtin_astype((x), intptr_t)
#define as_uintptr_t(x) __builtin_astype((x), uintptr_t)
#ifdef cl_khr_fp64
#define as_double(x) __builtin_astype((x), double)
#endif
#ifdef cl_khr_fp16
#define as_half(x) __builtin_astype((x), half)
#endif

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 0x01
#define CLK_GLOBAL_MEM_FENCE 0x02
#define CLK_IMAGE_MEM_FENCE 0x04

#define CLK_NORMALIZED_COORDS_FALSE 0
#define CLK_NORMALIZED_COORDS_TRUE 1
#define CLK_ADDRESS_NONE 0
#define CLK_ADDRESS_CLAMP_TO_EDGE 2
#define CLK_ADDRESS_CLAMP 4
#define CLK_ADDRESS_REPEAT 6
#define CLK_ADDRESS_MIRRORED_REPEAT 8
#define CLK_FILTER_NEAREST 0x10
#define CLK_FILTER_LINEAR 0x20

#define CLK_R 0x10B0
#define CLK_A 0x10B1
#define CLK_RG 0x10B2
#define CLK_RA 0x10B3
#define CLK_RGB 0x10B4
#define CLK_RGBA 0x10B5
#define CLK_BGRA 0x10B6
#define CLK_ARGB 0x10B7
#define CLK_INTENSITY 0x10B8
#define CLK_LUMINANCE 0x10B9
#define CLK_Rx 0x10BA
#define CLK_RGx 0x10BB
#define CLK_RGBx 0x10BC
#define CLK_DEPTH 0x10BD
#define CLK_DEPTH_STENCIL 0x10BE
#define CLK_sRGB 0x10BF
#define CLK_sRGBx 0x10C0
#define CLK_sRGBA 0x10C1
#define CLK_sBGRA 0x10C2
#define CLK_ABGR 0x10C3
#define CLK_SNORM_INT8 0x10D0
#define CLK_SNORM_INT16 0x10D1
#define CLK_UNORM_INT8 0x10D2
#define CLK_UNORM_INT16 0x10D3
#define CLK_UNORM_SHORT_565 0x10D4
#define CLK_UNORM_SHORT_555 0x10D5
#define CLK_UNORM_INT_101010 0x10D6
#define CLK_SIGNED_INT8 0x10D7
#define CLK_SIGNED_INT16 0x10D8
#define CLK_SIGNED_INT32 0x10D9
#define CLK_UNSIGNED_INT8 0x10DA
#define CLK_UNSIGNED_INT16 0x10DB
#define CLK_UNSIGNED_INT32 0x10DC
#define CLK_HALF_FLOAT 0x10DD
#define CLK_FLOAT 0x10DE
#define CLK_UNORM_INT24 0x10DF

typedef enum memory_scope {
  memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
  memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
  memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
  memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
  memory_scope_all_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
  memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP
} memory_scope;

typedef enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;

#define ATOMIC_VAR_INIT(x) (x)
#define ATOMIC_FLAG_INIT 0
#if __OPENCL_C_VERSION__ >= 200 || defined(__OPENCL_CPP_VERSION__)
#define atomic_init(object, value) __opencl_atomic_init(object, value)
#ifdef __opencl_c_device_enqueue
typedef int clk_profiling_info;
typedef uint kernel_enqueue_flags_t;
typedef struct { int dimensions; } ndrange_t;
#endif
typedef int kernel_enqueue_status;
#endif

#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define USHRT_MAX 65535
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define UINT_MAX 0xffffffffU
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define ULONG_MAX 0xffffffffffffffffUL
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-0x7fffffffffffffffL - 1)

#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP +38
#define FLT_MAX_EXP +128
#define FLT_MIN_10_EXP -37
#define FLT_MIN_EXP -125
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX
#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF (__builtin_huge_valf())
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))

#define M_E_F 2.71828182845904523536028747135266250f
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f

#ifdef cl_khr_fp64
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP +308
#define DBL_MAX_EXP +1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_RADIX 2
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52
#define HUGE_VAL (__builtin_huge_val())
#define M_E 0x1.5bf0a8b145769p+1
#define M_LOG2E 0x1.71547652b82fep+0
#define M_LOG10E 0x1.bcb7b1526e50ep-2
#define M_LN2 0x1.62e42fefa39efp-1
#define M_LN10 0x1.26bb1bbb55516p+1
#define M_PI 0x1.921fb54442d18p+1
#define M_PI_2 0x1.921fb54442d18p+0
#define M_PI_4 0x1.921fb54442d18p-1
#define M_1_PI 0x1.45f306dc9c883p-2
#define M_2_PI 0x1.45f306dc9c883p-1
#define M_2_SQRTPI 0x1.20dd750429b6dp+0
#define M_SQRT2 0x1.6a09e667f3bcdp+0
#define M_SQRT1_2 0x1.6a09e667f3bcdp-1
#endif

#ifdef cl_khr_fp16
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP +4
#define HALF_MAX_EXP +16
#define HALF_MIN_10_EXP -4
#define HALF_MIN_EXP -13
#define HALF_RADIX 2
#define HALF_MAX ((0x1.ffcp15h))
#define HALF_MIN ((0x1.0p-14h))
#define HALF_EPSILON ((0x1.0p-10h))
#define M_E_H 2.71828182845904523536028747135266250h
#define M_LOG2E_H 1.44269504088896340735992468100189214h
#define M_LOG10E_H 0.434294481903251827651128918916605082h
#define M_LN2_H 0.693147180559945309417232121458176568h
#define M_LN10_H 2.30258509299404568401799145468436421h
#define M_PI_H 3.14159265358979323846264338327950288h
#define M_PI_2_H 1.57079632679489661923132169163975144h
#define M_PI_4_H 0.785398163397448309615660845819875721h
#define M_1_PI_H 0.318309886183790671537767526745028724h
#define M_2_PI_H 0.636619772367581343075535053490057448h
#define M_2_SQRTPI_H 1.12837916709551257389615890312154517h
#define M_SQRT2_H 1.41421356237309504880168872420969808h
#define M_SQRT1_2_H 0.707106781186547524400844362104849039h
#endif

/* 64-bit forms, which drivers and PoCL provide besides atom_cmpxchg. */
#if __OPENCL_C_VERSION__ < 200
#define CLTRACE_EXCHANGE(type) \
  type __attribute__((overloadable)) atomic_cmpxchg(volatile __global type *, type, type); \
  type __attribute__((overloadable)) atomic_cmpxchg(volatile __local type *, type, type);
CLTRACE_EXCHANGE(int)
CLTRACE_EXCHANGE(uint)
CLTRACE_EXCHANGE(long)
CLTRACE_EXCHANGE(ulong)
#undef CLTRACE_EXCHANGE
#endif

/* Clang declares these for some types only, which makes a call with an int ambiguous. */
#if defined(cl_khr_subgroups) || defined(__opencl_c_subgroups)
#define __opencl_subgroup_builtins 1
#define CLTRACE_DECLARED __attribute__((overloadable, convergent))
#define CLTRACE_SUB_GROUP(type) \
  type CLTRACE_DECLARED sub_group_broadcast(type, uint); \
  type CLTRACE_DECLARED sub_group_reduce_add(type); \
  type CLTRACE_DECLARED sub_group_reduce_min(type); \
  type CLTRACE_DECLARED sub_group_reduce_max(type); \
  type CLTRACE_DECLARED sub_group_scan_exclusive_add(type); \
  type CLTRACE_DECLARED sub_group_scan_exclusive_min(type); \
  type CLTRACE_DECLARED sub_group_scan_exclusive_max(type); \
  type CLTRACE_DECLARED sub_group_scan_inclusive_add(type); \
  type CLTRACE_DECLARED sub_group_scan_inclusive_min(type); \
  type CLTRACE_DECLARED sub_group_scan_inclusive_max(type);
CLTRACE_SUB_GROUP(int)
CLTRACE_SUB_GROUP(uint)
CLTRACE_SUB_GROUP(long)
CLTRACE_SUB_GROUP(ulong)
CLTRACE_SUB_GROUP(float)
#ifdef cl_khr_fp64
CLTRACE_SUB_GROUP(double)
#endif
#ifdef cl_khr_fp16
CLTRACE_SUB_GROUP(half)
#endif
#undef CLTRACE_SUB_GROUP
#undef CLTRACE_DECLARED
#endif

/* Functions that drivers' compilers leave where they are called: those with many branches, and sizes, which
 * become known only after loops are unrolled. They may move all others, as no function is convergent unless
 * it says so. Those of one type are declared for all, as a declaration hides clang's own. A program that has
 * a function of its own by such a name is compiled without the declarations. */
#if defined(__SPIR64__) && !defined(CLTRACE_OWN_FUNCTIONS)
#define CLTRACE_STAYS __attribute__((const, convergent, overloadable))
size_t CLTRACE_STAYS get_global_size(uint);
size_t CLTRACE_STAYS get_local_size(uint);
size_t CLTRACE_STAYS get_num_groups(uint);
#if __OPENCL_C_VERSION__ >= CL_VERSION_2_0
size_t CLTRACE_STAYS get_enqueued_local_size(uint);
#endif
#define CLTRACE_MOVES __attribute__((const, overloadable))
#define CLTRACE_WIDTHS(declare, attributes, type) \
  declare(attributes, type, int) declare(attributes, type##2, int2) declare(attributes, type##3, int3) \
  declare(attributes, type##4, int4) declare(attributes, type##8, int8) \
  declare(attributes, type##16, int16)
#define CLTRACE_OF_ALL(attributes, type, integer) \
  type attributes sin(type); \
  type attributes cos(type); \
  type attributes tan(type); \
  type attributes sinpi(type); \
  type attributes cospi(type); \
  type attributes log1p(type); \
  type attributes erfc(type); \
  type attributes tgamma(type); \
  type attributes lgamma(type); \
  type attributes logb(type); \
  type attributes asinh(type); \
  type attributes acosh(type); \
  type attributes pow(type, type); \
  type attributes powr(type, type); \
  type attributes fmod(type, type); \
  type attributes remainder(type, type); \
  type attributes nextafter(type, type); \
  type attributes pown(type, integer); \
  type attributes rootn(type, integer); \
  type attributes ldexp(type, integer); \
  type attributes ldexp(type, int);
#define CLTRACE_OF_DOUBLE(attributes, type, integer) \
  type attributes acos(type); \
  type attributes sinh(type); \
  type attributes log(type); \
  type attributes log2(type); \
  type attributes log10(type); \
  type attributes cbrt(type); \
  type attributes hypot(type, type); \
  type attributes atanh(type);
CLTRACE_WIDTHS(CLTRACE_OF_ALL, CLTRACE_STAYS, float)
CLTRACE_WIDTHS(CLTRACE_OF_DOUBLE, CLTRACE_MOVES, float)
#ifdef cl_khr_fp64
CLTRACE_WIDTHS(CLTRACE_OF_ALL, CLTRACE_STAYS, double)
CLTRACE_WIDTHS(CLTRACE_OF_DOUBLE, CLTRACE_STAYS, double)
#endif
#ifdef cl_khr_fp16
CLTRACE_WIDTHS(CLTRACE_OF_ALL, CLTRACE_STAYS, half)
CLTRACE_WIDTHS(CLTRACE_OF_DOUBLE, CLTRACE_MOVES, half)
#endif
#undef CLTRACE_OF_DOUBLE
#undef CLTRACE_OF_ALL
#undef CLTRACE_WIDTHS
#undef CLTRACE_MOVES
#undef CLTRACE_STAYS
#endif

#if __OPENCL_C_VERSION__ >= CL_VERSION_1_2
int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

#endif
