/* OpenCL C builtins by functions of the target, instead of calls that no library resolves. The definitions
 * need the same registers as the target's own; their results are not those of the device. Functions that a
 * device computes by a polynomial (most of mathematics) are polynomials here. */
#ifndef __CLTRACE_TARGET_H
#define __CLTRACE_TARGET_H

#define CLTRACE_QUERY(name, x, y, z) \
  static inline __attribute__((always_inline, const)) uint __cltrace_##name(uint __dimension) { \
    return __dimension == 0 ? (x) : __dimension == 1 ? (y) : __dimension == 2 ? (z) : 0; \
  }

#if defined(__NVPTX__)
CLTRACE_QUERY(local_id, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(),
              __nvvm_read_ptx_sreg_tid_z())
CLTRACE_QUERY(group_id, __nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(),
              __nvvm_read_ptx_sreg_ctaid_z())
CLTRACE_QUERY(local_size, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(),
              __nvvm_read_ptx_sreg_ntid_z())
CLTRACE_QUERY(num_groups, __nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(),
              __nvvm_read_ptx_sreg_nctaid_z())
#define CLTRACE_GLOBAL_SIZE(d) ((size_t)__cltrace_num_groups(d) * __cltrace_local_size(d))
#define CLTRACE_BARRIER() __nvvm_bar_sync(0)
#elif defined(__AMDGCN__)
CLTRACE_QUERY(local_id, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
              __builtin_amdgcn_workitem_id_z())
CLTRACE_QUERY(group_id, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
              __builtin_amdgcn_workgroup_id_z())
CLTRACE_QUERY(local_size, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
              __builtin_amdgcn_workgroup_size_z())
CLTRACE_QUERY(global_size, __builtin_amdgcn_grid_size_x(), __builtin_amdgcn_grid_size_y(),
              __builtin_amdgcn_grid_size_z())
#define CLTRACE_GLOBAL_SIZE(d) ((size_t)__cltrace_global_size(d))
#define __cltrace_num_groups(d) (__cltrace_global_size(d) / __cltrace_local_size(d))
#define CLTRACE_BARRIER() __builtin_amdgcn_s_barrier()
#endif

#define get_local_id(d) ((size_t)__cltrace_local_id(d))
#define get_group_id(d) ((size_t)__cltrace_group_id(d))
#define get_local_size(d) ((size_t)__cltrace_local_size(d))
#define get_enqueued_local_size(d) get_local_size(d)
#define get_num_groups(d) ((size_t)__cltrace_num_groups(d))
#define get_global_size(d) CLTRACE_GLOBAL_SIZE(d)
#define get_global_id(d) \
  ((size_t)__cltrace_group_id(d) * __cltrace_local_size(d) + __cltrace_local_id(d))
#define get_global_offset(d) ((size_t)0)
#define get_work_dim() 3u
#define barrier(flags) CLTRACE_BARRIER()
#define work_group_barrier(...) CLTRACE_BARRIER()
#define mem_fence(flags) ((void)0)
#define read_mem_fence(flags) ((void)0)
#define write_mem_fence(flags) ((void)0)

#define CLTRACE_INLINE static inline __attribute__((overloadable, always_inline, const))
#define CLTRACE_WIDTHS(define, type) \
  define(type) define(type##2) define(type##3) define(type##4) define(type##8) define(type##16)
#define CLTRACE_VECTOR_WIDTHS(define, type) \
  define(type##2, type) define(type##3, type) define(type##4, type) define(type##8, type) \
  define(type##16, type)
#define CLTRACE_INTEGERS(each, define) \
  each(define, char) each(define, uchar) each(define, short) each(define, ushort) \
  each(define, int) each(define, uint) each(define, long) each(define, ulong)
#ifdef cl_khr_fp64
#define CLTRACE_FLOATS(each, define) each(define, float) each(define, double)
#else
#define CLTRACE_FLOATS(each, define) each(define, float)
#endif

#define CLTRACE_ORDERED(T) \
  CLTRACE_INLINE T __cltrace_min(T __a, T __b) { return __builtin_elementwise_min(__a, __b); } \
  CLTRACE_INLINE T __cltrace_max(T __a, T __b) { return __builtin_elementwise_max(__a, __b); } \
  CLTRACE_INLINE T __cltrace_clamp(T __a, T __low, T __high) { \
    return __builtin_elementwise_min(__builtin_elementwise_max(__a, __low), __high); \
  }
#define CLTRACE_ORDERED_BY_ONE(T, S) \
  CLTRACE_INLINE T __cltrace_min(T __a, S __b) { return __builtin_elementwise_min(__a, (T)__b); } \
  CLTRACE_INLINE T __cltrace_max(T __a, S __b) { return __builtin_elementwise_max(__a, (T)__b); } \
  CLTRACE_INLINE T __cltrace_clamp(T __a, S __low, S __high) { \
    return __builtin_elementwise_min(__builtin_elementwise_max(__a, (T)__low), (T)__high); \
  }
CLTRACE_INTEGERS(CLTRACE_WIDTHS, CLTRACE_ORDERED)
CLTRACE_INTEGERS(CLTRACE_VECTOR_WIDTHS, CLTRACE_ORDERED_BY_ONE)
CLTRACE_FLOATS(CLTRACE_WIDTHS, CLTRACE_ORDERED)
CLTRACE_FLOATS(CLTRACE_VECTOR_WIDTHS, CLTRACE_ORDERED_BY_ONE)
#define min __cltrace_min
#define max __cltrace_max
#define fmin __cltrace_min
#define fmax __cltrace_max
#define clamp __cltrace_clamp

#define CLTRACE_ARITHMETIC(T) \
  CLTRACE_INLINE T __cltrace_fma(T __a, T __b, T __c) { return __builtin_elementwise_fma(__a, __b, __c); } \
  CLTRACE_INLINE T __cltrace_sqrt(T __a) { return __builtin_elementwise_sqrt(__a); } \
  CLTRACE_INLINE T __cltrace_rsqrt(T __a) { return 1 / __builtin_elementwise_sqrt(__a); } \
  CLTRACE_INLINE T __cltrace_fabs(T __a) { return __builtin_elementwise_abs(__a); } \
  CLTRACE_INLINE T __cltrace_floor(T __a) { return __builtin_elementwise_floor(__a); } \
  CLTRACE_INLINE T __cltrace_divide(T __a, T __b) { return __a / __b; } \
  CLTRACE_INLINE T __cltrace_polynomial(T __a) { \
    T __high = __builtin_elementwise_floor(__a), __low = __a - __high, __sum = __low * 0.1f + 0.2f; \
    __sum = __builtin_elementwise_fma(__sum, __low, (T)0.3f); \
    __sum = __builtin_elementwise_fma(__sum, __low, (T)0.4f); \
    __sum = __builtin_elementwise_fma(__sum, __low, (T)0.5f); \
    return __builtin_elementwise_fma(__sum, __high, __low); \
  } \
  CLTRACE_INLINE T __cltrace_polynomial_of_two(T __a, T __b) { \
    return __cltrace_polynomial(__a) * __b + __cltrace_polynomial(__b); \
  }
CLTRACE_FLOATS(CLTRACE_WIDTHS, CLTRACE_ARITHMETIC)
#define fma __cltrace_fma
#define mad __cltrace_fma
#define sqrt __cltrace_sqrt
#define half_sqrt __cltrace_sqrt
#define native_sqrt __cltrace_sqrt
#define rsqrt __cltrace_rsqrt
#define half_rsqrt __cltrace_rsqrt
#define native_rsqrt __cltrace_rsqrt
#define fabs __cltrace_fabs
#define floor __cltrace_floor
#define ceil __cltrace_floor
#define trunc __cltrace_floor
#define rint __cltrace_floor
#define round __cltrace_floor
#define half_divide __cltrace_divide
#define native_divide __cltrace_divide
#define half_recip(__a) __cltrace_divide(1.0f, __a)
#define native_recip(__a) __cltrace_divide(1.0f, __a)

#define abs(__a) __builtin_elementwise_abs(__a)
#define mix(__a, __b, __c) ((__a) + ((__b) - (__a)) * (__c))
#define prefetch(...) ((void)0)
#define mad24(__a, __b, __c) ((__a) * (__b) + (__c))
#define mul24(__a, __b) ((__a) * (__b))
#define popcount(__a) __builtin_elementwise_popcount(__a)

/* Functions for which a device has float instructions. */
#define CLTRACE_QUICK(name) \
  CLTRACE_INLINE float __cltrace_##name(float __a) { return __builtin_elementwise_##name(__a); }
CLTRACE_QUICK(sin)
CLTRACE_QUICK(cos)
CLTRACE_QUICK(exp2)
CLTRACE_QUICK(log2)
#define native_sin __cltrace_sin
#define native_cos __cltrace_cos
#define native_exp2 __cltrace_exp2
#define native_log2 __cltrace_log2
#define native_exp(__a) __cltrace_exp2((__a) * 1.442695f)
#define native_log(__a) (__cltrace_log2(__a) * 0.693147f)
#define native_powr(__a, __b) __cltrace_exp2((__b) * __cltrace_log2(__a))

#define acos __cltrace_polynomial
#define acosh __cltrace_polynomial
#define acospi __cltrace_polynomial
#define asin __cltrace_polynomial
#define asinh __cltrace_polynomial
#define asinpi __cltrace_polynomial
#define atan __cltrace_polynomial
#define atanh __cltrace_polynomial
#define atanpi __cltrace_polynomial
#define cbrt __cltrace_polynomial
#define cos __cltrace_polynomial
#define cosh __cltrace_polynomial
#define cospi __cltrace_polynomial
#define erf __cltrace_polynomial
#define erfc __cltrace_polynomial
#define exp __cltrace_polynomial
#define exp10 __cltrace_polynomial
#define exp2 __cltrace_polynomial
#define expm1 __cltrace_polynomial
#define lgamma __cltrace_polynomial
#define log __cltrace_polynomial
#define log10 __cltrace_polynomial
#define log1p __cltrace_polynomial
#define log2 __cltrace_polynomial
#define logb __cltrace_polynomial
#define sin __cltrace_polynomial
#define sinh __cltrace_polynomial
#define sinpi __cltrace_polynomial
#define tan __cltrace_polynomial
#define tanh __cltrace_polynomial
#define tanpi __cltrace_polynomial
#define tgamma __cltrace_polynomial
#define half_cos __cltrace_polynomial
#define half_exp __cltrace_polynomial
#define half_exp10 __cltrace_polynomial
#define half_exp2 __cltrace_polynomial
#define half_log __cltrace_polynomial
#define half_log10 __cltrace_polynomial
#define half_log2 __cltrace_polynomial
#define half_sin __cltrace_polynomial
#define half_tan __cltrace_polynomial
#define native_exp10 __cltrace_polynomial
#define native_log10 __cltrace_polynomial
#define native_tan __cltrace_polynomial
#define atan2 __cltrace_polynomial_of_two
#define atan2pi __cltrace_polynomial_of_two
#define fmod __cltrace_polynomial_of_two
#define hypot __cltrace_polynomial_of_two
#define pow __cltrace_polynomial_of_two
#define powr __cltrace_polynomial_of_two
#define remainder __cltrace_polynomial_of_two
#define half_powr __cltrace_polynomial_of_two

#define sincos(__a, __cosine) (*(__cosine) = __cltrace_polynomial(__a), __cltrace_polynomial(__a))
#define CLTRACE_GEOMETRY(T, S, __sum) \
  CLTRACE_INLINE S __cltrace_dot(T __a, T __b) { T __p = __a * __b; return __sum; } \
  CLTRACE_INLINE S __cltrace_length(T __a) { return __cltrace_sqrt(__cltrace_dot(__a, __a)); } \
  CLTRACE_INLINE S __cltrace_distance(T __a, T __b) { return __cltrace_length(__a - __b); } \
  CLTRACE_INLINE T __cltrace_normalize(T __a) { return __a * __cltrace_rsqrt(__cltrace_dot(__a, __a)); }
#define CLTRACE_GEOMETRIES(define, S) \
  CLTRACE_GEOMETRY(S, S, __p) CLTRACE_GEOMETRY(S##2, S, __p.s0 + __p.s1) \
  CLTRACE_GEOMETRY(S##3, S, __p.s0 + __p.s1 + __p.s2) CLTRACE_GEOMETRY(S##4, S, __p.s0 + __p.s1 + __p.s2 + __p.s3) \
  CLTRACE_INLINE S##3 __cltrace_cross(S##3 __a, S##3 __b) { return __a.yzx * __b.zxy - __a.zxy * __b.yzx; } \
  CLTRACE_INLINE S##4 __cltrace_cross(S##4 __a, S##4 __b) { \
    return (S##4)(__a.yzx * __b.zxy - __a.zxy * __b.yzx, 0); \
  }
CLTRACE_FLOATS(CLTRACE_GEOMETRIES, )
#define dot __cltrace_dot
#define length __cltrace_length
#define fast_length __cltrace_length
#define distance __cltrace_distance
#define fast_distance __cltrace_distance
#define normalize __cltrace_normalize
#define fast_normalize __cltrace_normalize
#define cross __cltrace_cross

#define CLTRACE_LOAD(__o, __p, __n, ...) \
  ({ \
    __typeof__((__p) + 0) __from = (__p) + (size_t)(__n) * (__o); \
    typedef __typeof__((0, *__from)) __element; \
    typedef __element __vector __attribute__((ext_vector_type(__n))); \
    (__vector)(__VA_ARGS__); \
  })
#define CLTRACE_STORE(__v, __o, __p, __n, ...) \
  ({ \
    __typeof__((__p) + 0) __to = (__p) + (size_t)(__n) * (__o); \
    __typeof__((0, (__v))) __data = (__v); \
    __VA_ARGS__; \
  })
#define vload2(__o, __p) CLTRACE_LOAD(__o, __p, 2, \
  __from[0], __from[1])
#define vstore2(__v, __o, __p) CLTRACE_STORE(__v, __o, __p, 2, \
  __to[0] = __data.s0, __to[1] = __data.s1)
#define vload3(__o, __p) CLTRACE_LOAD(__o, __p, 3, \
  __from[0], __from[1], __from[2])
#define vstore3(__v, __o, __p) CLTRACE_STORE(__v, __o, __p, 3, \
  __to[0] = __data.s0, __to[1] = __data.s1, __to[2] = __data.s2)
#define vload4(__o, __p) CLTRACE_LOAD(__o, __p, 4, \
  __from[0], __from[1], __from[2], __from[3])
#define vstore4(__v, __o, __p) CLTRACE_STORE(__v, __o, __p, 4, \
  __to[0] = __data.s0, __to[1] = __data.s1, __to[2] = __data.s2, __to[3] = __data.s3)
#define vload8(__o, __p) CLTRACE_LOAD(__o, __p, 8, \
  __from[0], __from[1], __from[2], __from[3], __from[4], __from[5], __from[6], __from[7])
#define vstore8(__v, __o, __p) CLTRACE_STORE(__v, __o, __p, 8, \
  __to[0] = __data.s0, __to[1] = __data.s1, __to[2] = __data.s2, __to[3] = __data.s3, \
  __to[4] = __data.s4, __to[5] = __data.s5, __to[6] = __data.s6, __to[7] = __data.s7)
#define vload16(__o, __p) CLTRACE_LOAD(__o, __p, 16, \
  __from[0], __from[1], __from[2], __from[3], __from[4], __from[5], __from[6], __from[7], \
  __from[8], __from[9], __from[10], __from[11], __from[12], __from[13], __from[14], __from[15])
#define vstore16(__v, __o, __p) CLTRACE_STORE(__v, __o, __p, 16, \
  __to[0] = __data.s0, __to[1] = __data.s1, __to[2] = __data.s2, __to[3] = __data.s3, \
  __to[4] = __data.s4, __to[5] = __data.s5, __to[6] = __data.s6, __to[7] = __data.s7, \
  __to[8] = __data.s8, __to[9] = __data.s9, __to[10] = __data.sa, __to[11] = __data.sb, \
  __to[12] = __data.sc, __to[13] = __data.sd, __to[14] = __data.se, __to[15] = __data.sf)

#define CLTRACE_RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#define atomic_add(__p, __v) __scoped_atomic_fetch_add(__p, __v, CLTRACE_RELAXED)
#define atomic_sub(__p, __v) __scoped_atomic_fetch_sub(__p, __v, CLTRACE_RELAXED)
#define atomic_and(__p, __v) __scoped_atomic_fetch_and(__p, __v, CLTRACE_RELAXED)
#define atomic_or(__p, __v) __scoped_atomic_fetch_or(__p, __v, CLTRACE_RELAXED)
#define atomic_xor(__p, __v) __scoped_atomic_fetch_xor(__p, __v, CLTRACE_RELAXED)
#define atomic_min(__p, __v) __scoped_atomic_fetch_min(__p, __v, CLTRACE_RELAXED)
#define atomic_max(__p, __v) __scoped_atomic_fetch_max(__p, __v, CLTRACE_RELAXED)
#define atomic_xchg(__p, __v) __scoped_atomic_exchange_n(__p, __v, CLTRACE_RELAXED)
#define atomic_cmpxchg(__p, __c, __v) \
  ({ \
    __typeof__((__v) + 0) __expected = (__c); \
    __scoped_atomic_compare_exchange_n(__p, &__expected, __v, 0, __ATOMIC_RELAXED, \
                                       CLTRACE_RELAXED); \
    __expected; \
  })
#define atom_xchg atomic_xchg
#define atom_cmpxchg atomic_cmpxchg
#define atomic_inc(__p) __scoped_atomic_fetch_add(__p, 1, CLTRACE_RELAXED)
#define atomic_dec(__p) __scoped_atomic_fetch_sub(__p, 1, CLTRACE_RELAXED)
#define atom_add atomic_add
#define atom_sub atomic_sub
#define atom_and atomic_and
#define atom_or atomic_or
#define atom_xor atomic_xor
#define atom_min atomic_min
#define atom_max atomic_max
#define atom_inc atomic_inc
#define atom_dec atomic_dec

#endif
