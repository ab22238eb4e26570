/* Names of types, and what compilers are told of loops. */

#ifndef TFX_NUMBERS_H
#define TFX_NUMBERS_H

#include <stdint.h>

typedef float f32;
typedef double f64;
typedef int64_t i64;
typedef int32_t i32;
typedef uint32_t u32;
typedef uint64_t u64;

/* The codes of ONNX. */
enum { TYPE_f32 = 1, TYPE_u8 = 2, TYPE_i32 = 6, TYPE_i64 = 7, TYPE_b8 = 9, TYPE_f64 = 11 };
enum { TYPE_u32 = 12, TYPE_u64 = 13, NO_TYPE = 0 };

/* ``UNROLLED`` loops have few iterations, whose number is known; what one of the ``INDEPENDENT`` writes, no
   other reads. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 16")
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define UNROLLED
#define INDEPENDENT
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address)
#endif

/* Always, so that they become a part of loops in the instructions of these. */
#if defined(__GNUC__) || defined(__clang__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

/* Never, where many call it and the call takes no time beside what it does: small code. */
#if defined(__GNUC__) || defined(__clang__)
#define APART static __attribute__((noinline, unused))
#else
#define APART static inline
#endif

/* Lanes of a vector that all processors of a kind have: wider ones, compilers take apart number by number. */
#if defined(__AVX2__)
enum { COMMON_LANES = 8 };
#else
enum { COMMON_LANES = 4 };
#endif

static inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }
static inline i64 larger(i64 a, i64 b) { return a > b ? a : b; }

/* The number of elements of some sizes. Of an empty tensor the other sizes may be any, so the product
   before its 0 wraps around. */
APART i64 elements(const i64 *sizes, int rank) {
  uint64_t count = 1;
  for (int axis = 0; axis < rank; axis++) count *= (uint64_t)sizes[axis];
  return (i64)count;
}

/* Likewise of two. */
static inline i64 wrapping_product(i64 a, i64 b) { return (i64)((uint64_t)a * (uint64_t)b); }

/* Whether there are more bytes of numbers of 8 bytes in a box than a number of 64 bits counts; inputs
   never have so many, but there can be results of so many. */
APART int too_many(const i64 *sizes, int rank) {
  i64 left = INT64_MAX / 8;
  for (int axis = 0; axis < rank; axis++) {
    if (sizes[axis] == 0) return 0;
    left /= sizes[axis];
  }
  return left == 0;
}

#endif
