/* Memory of numbers that begins where a line of the processor's caches does: a vector that lies
   across two takes twice as long to read. */

#ifndef TFX_MEMORY_H
#define TFX_MEMORY_H

#include "numbers.h"

#include <stdlib.h>

enum { CACHE_LINE = 64, NUMBERS_OF_LINE = CACHE_LINE / sizeof(f32) };

#if defined(_WIN32)
#include <malloc.h>
#else
/* Which the headers declare only where more than the standard's own names are asked for. */
int posix_memalign(void **made, size_t alignment, size_t size);
#endif

/* NULL if there is no memory left. */
static inline f32 *numbers_in_lines(size_t count) {
  const size_t bytes = (count ? count : 1) * sizeof(f32);
#if defined(_WIN32)
  return _aligned_malloc(bytes, CACHE_LINE);
#else
  void *made = NULL;
  return posix_memalign(&made, CACHE_LINE, bytes) ? NULL : made;
#endif
}

static inline void free_lines(f32 *numbers) {
#if defined(_WIN32)
  _aligned_free(numbers);
#else
  free(numbers);
#endif
}

/* So many that what stands behind them begins with a line, too. */
static inline i64 in_whole_lines(i64 count) {
  return (count + NUMBERS_OF_LINE - 1) / NUMBERS_OF_LINE * NUMBERS_OF_LINE;
}

#endif
