/* Vectors that all processors of a kind have, and products added to sums in one step where
   there is such a step. */

#ifndef TFX_VECTORS_H
#define TFX_VECTORS_H

#include "numbers.h"

#if defined(__FMA__) && defined(__AVX2__)
#include <immintrin.h>
#define ADD_PRODUCT_f32(a, b, c)                                                               \
  ((vector_f32)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define ADD_PRODUCT_f64(a, b, c)                                                               \
  ((vector_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define ADD_PRODUCT_f32(a, b, c) ((a) * (b) + (c))
#define ADD_PRODUCT_f64(a, b, c) ((a) * (b) + (c))
#endif

enum { VECTOR_BYTES = 32 };
typedef f32 vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef f64 vector_f64 __attribute__((vector_size(VECTOR_BYTES)));
#define OF_ONE_f32(x) ((vector_f32){x, x, x, x, x, x, x, x})
#define OF_ONE_f64(x) ((vector_f64){x, x, x, x})

#endif
