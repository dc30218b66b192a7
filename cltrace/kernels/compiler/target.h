/* OpenCL C's functions in functions of the target, instead of calls that no library resolves. Only what
 * decides how many registers a kernel needs is the target's own: results are not those of the device.
 * What a device computes by a polynomial (most of mathematics) stands here as one. */
#ifndef CLTRACE_TARGET_H
#define CLTRACE_TARGET_H

#define CLTRACE_QUERY(name, x, y, z)                                                         \
  static inline __attribute__((always_inline, const)) uint __cltrace_##name(uint dimension) { \
    return dimension == 0 ? (x) : dimension == 1 ? (y) : dimension == 2 ? (z) : 0;           \
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
#define CLTRACE_VECTOR_WIDTHS(define, type)                                               \
  define(type##2, type) define(type##3, type) define(type##4, type) define(type##8, type) \
  define(type##16, type)
#define CLTRACE_INTEGERS(each, define)                                              \
  each(define, char) each(define, uchar) each(define, short) each(define, ushort)   \
  each(define, int) each(define, uint) each(define, long) each(define, ulong)
#ifdef cl_khr_fp64
#define CLTRACE_FLOATS(each, define) each(define, float) each(define, double)
#else
#define CLTRACE_FLOATS(each, define) each(define, float)
#endif

#define CLTRACE_ORDERED(T)                                                                     \
  CLTRACE_INLINE T cltrace_min(T a, T b) { return __builtin_elementwise_min(a, b); }           \
  CLTRACE_INLINE T cltrace_max(T a, T b) { return __builtin_elementwise_max(a, b); }           \
  CLTRACE_INLINE T cltrace_clamp(T a, T low, T high) {                                         \
    return __builtin_elementwise_min(__builtin_elementwise_max(a, low), high);                 \
  }
#define CLTRACE_ORDERED_BY_ONE(T, S)                                                           \
  CLTRACE_INLINE T cltrace_min(T a, S b) { return __builtin_elementwise_min(a, (T)b); }        \
  CLTRACE_INLINE T cltrace_max(T a, S b) { return __builtin_elementwise_max(a, (T)b); }        \
  CLTRACE_INLINE T cltrace_clamp(T a, S low, S high) {                                         \
    return __builtin_elementwise_min(__builtin_elementwise_max(a, (T)low), (T)high);           \
  }
CLTRACE_INTEGERS(CLTRACE_WIDTHS, CLTRACE_ORDERED)
CLTRACE_INTEGERS(CLTRACE_VECTOR_WIDTHS, CLTRACE_ORDERED_BY_ONE)
CLTRACE_FLOATS(CLTRACE_WIDTHS, CLTRACE_ORDERED)
CLTRACE_FLOATS(CLTRACE_VECTOR_WIDTHS, CLTRACE_ORDERED_BY_ONE)
#define min cltrace_min
#define max cltrace_max
#define fmin cltrace_min
#define fmax cltrace_max
#define clamp cltrace_clamp

#define CLTRACE_ARITHMETIC(T)                                                                   \
  CLTRACE_INLINE T cltrace_fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }    \
  CLTRACE_INLINE T cltrace_sqrt(T a) { return __builtin_elementwise_sqrt(a); }                  \
  CLTRACE_INLINE T cltrace_rsqrt(T a) { return 1 / __builtin_elementwise_sqrt(a); }             \
  CLTRACE_INLINE T cltrace_fabs(T a) { return __builtin_elementwise_abs(a); }                   \
  CLTRACE_INLINE T cltrace_floor(T a) { return __builtin_elementwise_floor(a); }                \
  CLTRACE_INLINE T cltrace_divide(T a, T b) { return a / b; }                                   \
  CLTRACE_INLINE T cltrace_polynomial(T a) {                                                    \
    T high = __builtin_elementwise_floor(a), low = a - high, sum = low * 0.1f + 0.2f;           \
    sum = __builtin_elementwise_fma(sum, low, (T)0.3f);                                         \
    sum = __builtin_elementwise_fma(sum, low, (T)0.4f);                                         \
    sum = __builtin_elementwise_fma(sum, low, (T)0.5f);                                         \
    return __builtin_elementwise_fma(sum, high, low);                                           \
  }                                                                                             \
  CLTRACE_INLINE T cltrace_polynomial_of_two(T a, T b) {                                        \
    return cltrace_polynomial(a) * b + cltrace_polynomial(b);                                   \
  }
CLTRACE_FLOATS(CLTRACE_WIDTHS, CLTRACE_ARITHMETIC)
#define fma cltrace_fma
#define mad cltrace_fma
#define sqrt cltrace_sqrt
#define half_sqrt cltrace_sqrt
#define native_sqrt cltrace_sqrt
#define rsqrt cltrace_rsqrt
#define half_rsqrt cltrace_rsqrt
#define native_rsqrt cltrace_rsqrt
#define fabs cltrace_fabs
#define floor cltrace_floor
#define ceil cltrace_floor
#define trunc cltrace_floor
#define rint cltrace_floor
#define round cltrace_floor
#define half_divide cltrace_divide
#define native_divide cltrace_divide
#define half_recip(a) cltrace_divide(1.0f, a)
#define native_recip(a) cltrace_divide(1.0f, a)

#define mad24(a, b, c) ((a) * (b) + (c))
#define mul24(a, b) ((a) * (b))
#define popcount(a) __builtin_elementwise_popcount(a)

/* What a device has instructions for, in float. */
#define CLTRACE_QUICK(name)                                                                \
  CLTRACE_INLINE float cltrace_##name(float a) { return __builtin_elementwise_##name(a); }
CLTRACE_QUICK(sin)
CLTRACE_QUICK(cos)
CLTRACE_QUICK(exp2)
CLTRACE_QUICK(log2)
#define native_sin cltrace_sin
#define native_cos cltrace_cos
#define native_exp2 cltrace_exp2
#define native_log2 cltrace_log2
#define native_exp(a) cltrace_exp2((a) * 1.442695f)
#define native_log(a) (cltrace_log2(a) * 0.693147f)
#define native_powr(a, b) cltrace_exp2((b) * cltrace_log2(a))

#define acos cltrace_polynomial
#define acosh cltrace_polynomial
#define acospi cltrace_polynomial
#define asin cltrace_polynomial
#define asinh cltrace_polynomial
#define asinpi cltrace_polynomial
#define atan cltrace_polynomial
#define atanh cltrace_polynomial
#define atanpi cltrace_polynomial
#define cbrt cltrace_polynomial
#define cos cltrace_polynomial
#define cosh cltrace_polynomial
#define cospi cltrace_polynomial
#define erf cltrace_polynomial
#define erfc cltrace_polynomial
#define exp cltrace_polynomial
#define exp10 cltrace_polynomial
#define exp2 cltrace_polynomial
#define expm1 cltrace_polynomial
#define lgamma cltrace_polynomial
#define log cltrace_polynomial
#define log10 cltrace_polynomial
#define log1p cltrace_polynomial
#define log2 cltrace_polynomial
#define logb cltrace_polynomial
#define sin cltrace_polynomial
#define sinh cltrace_polynomial
#define sinpi cltrace_polynomial
#define tan cltrace_polynomial
#define tanh cltrace_polynomial
#define tanpi cltrace_polynomial
#define tgamma cltrace_polynomial
#define half_cos cltrace_polynomial
#define half_exp cltrace_polynomial
#define half_exp10 cltrace_polynomial
#define half_exp2 cltrace_polynomial
#define half_log cltrace_polynomial
#define half_log10 cltrace_polynomial
#define half_log2 cltrace_polynomial
#define half_sin cltrace_polynomial
#define half_tan cltrace_polynomial
#define native_exp10 cltrace_polynomial
#define native_log10 cltrace_polynomial
#define native_tan cltrace_polynomial
#define atan2 cltrace_polynomial_of_two
#define atan2pi cltrace_polynomial_of_two
#define fmod cltrace_polynomial_of_two
#define hypot cltrace_polynomial_of_two
#define pow cltrace_polynomial_of_two
#define powr cltrace_polynomial_of_two
#define remainder cltrace_polynomial_of_two
#define half_powr cltrace_polynomial_of_two

#define sincos(a, cosine) (*(cosine) = cltrace_polynomial(a), cltrace_polynomial(a))
#define CLTRACE_GEOMETRY(T, S, sum)                                                        \
  CLTRACE_INLINE S cltrace_dot(T a, T b) { T p = a * b; return sum; }                      \
  CLTRACE_INLINE S cltrace_length(T a) { return cltrace_sqrt(cltrace_dot(a, a)); }         \
  CLTRACE_INLINE S cltrace_distance(T a, T b) { return cltrace_length(a - b); }            \
  CLTRACE_INLINE T cltrace_normalize(T a) { return a * cltrace_rsqrt(cltrace_dot(a, a)); }
#define CLTRACE_GEOMETRIES(define, S)                                                      \
  CLTRACE_GEOMETRY(S, S, p) CLTRACE_GEOMETRY(S##2, S, p.x + p.y)                           \
  CLTRACE_GEOMETRY(S##3, S, p.x + p.y + p.z) CLTRACE_GEOMETRY(S##4, S, p.x + p.y + p.z + p.w) \
  CLTRACE_INLINE S##3 cltrace_cross(S##3 a, S##3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; } \
  CLTRACE_INLINE S##4 cltrace_cross(S##4 a, S##4 b) {                                      \
    return (S##4)(a.yzx * b.zxy - a.zxy * b.yzx, 0);                                       \
  }
CLTRACE_FLOATS(CLTRACE_GEOMETRIES, )
#define dot cltrace_dot
#define length cltrace_length
#define fast_length cltrace_length
#define distance cltrace_distance
#define fast_distance cltrace_distance
#define normalize cltrace_normalize
#define fast_normalize cltrace_normalize
#define cross cltrace_cross

#define CLTRACE_RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#define atomic_add(p, v) __scoped_atomic_fetch_add(p, v, CLTRACE_RELAXED)
#define atomic_sub(p, v) __scoped_atomic_fetch_sub(p, v, CLTRACE_RELAXED)
#define atomic_and(p, v) __scoped_atomic_fetch_and(p, v, CLTRACE_RELAXED)
#define atomic_or(p, v) __scoped_atomic_fetch_or(p, v, CLTRACE_RELAXED)
#define atomic_xor(p, v) __scoped_atomic_fetch_xor(p, v, CLTRACE_RELAXED)
#define atomic_min(p, v) __scoped_atomic_fetch_min(p, v, CLTRACE_RELAXED)
#define atomic_max(p, v) __scoped_atomic_fetch_max(p, v, CLTRACE_RELAXED)
#define atomic_inc(p) __scoped_atomic_fetch_add(p, 1, CLTRACE_RELAXED)
#define atomic_dec(p) __scoped_atomic_fetch_sub(p, 1, CLTRACE_RELAXED)
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
