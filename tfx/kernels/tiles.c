#include "tiles.h"
#include "processor.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define IS_X86 1
#else
#define IS_X86 0
#endif

/* How many numbers ahead a panel is fetched into the cache: the processor itself does not go on to the
   next page of memory. */
enum { AHEAD = 512 };

#define PASTE(a, b) a##_##b
#define PASTED(a, b) PASTE(a, b)
#define JOIN(name) PASTED(name, SET)

#if IS_X86
#define SET avx512
#define TARGET __attribute__((target("avx512f")))
#define LANES 16
#define VECTORS 2
#define ROWS 12
#define FOR_EACH_COUNT(DO) DO(1) DO(2) DO(4) DO(6) DO(8) DO(10) DO(12)
#define SPLAT(x) ((vector_avx512)_mm512_set1_ps(x))
#define ADD_PRODUCT(a, b, c)                                                                   \
  ((vector_avx512)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#include "tiles.inc"
#undef SET
#undef TARGET
#undef LANES
#undef VECTORS
#undef ROWS
#undef FOR_EACH_COUNT
#undef SPLAT
#undef ADD_PRODUCT
#define SET avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define SPLAT(x) ((vector_avx2)_mm256_set1_ps(x))
#define ADD_PRODUCT(a, b, c)                                                                   \
  ((vector_avx2)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define SET plain
#define TARGET
#define LANES 4
#define SPLAT(x) ((vector_plain){x, x, x, x})
#define ADD_PRODUCT(a, b, c) ((a) * (b) + (c))
#endif
#define VECTORS 2
#define ROWS 6
#define FOR_EACH_COUNT(DO) DO(1) DO(2) DO(4) DO(6)
#include "tiles.inc"

#ifndef HAS_AVX512 /* tests say no */
#define HAS_AVX512 has_vectors(VECTORS_AVX512)
#endif

const Tiles *best_tiles(void) {
#if IS_X86
  return HAS_AVX512 ? &tiles_avx512 : &tiles_avx2;
#else
  return &tiles_plain;
#endif
}

int tiles_are_wide(void) { return IS_X86; }
