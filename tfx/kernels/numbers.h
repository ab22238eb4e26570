/* Names of types, and what compilers are told of loops. */

#ifndef TFX_NUMBERS_H
#define TFX_NUMBERS_H

#include <stdint.h>

typedef float f32;
typedef double f64;
typedef int64_t i64;

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

static inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }
static inline i64 larger(i64 a, i64 b) { return a > b ? a : b; }

#endif
