/* Matrices the other way round. */

#ifndef TFX_TURN_H
#define TFX_TURN_H

#include "numbers.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLES
#endif
#endif

/* ``to[i][k] = from[k][i]`` with steps from row to row, four by four where that can be said. */
static inline void turn(const f32 *from, i64 step, i64 rows, i64 columns, f32 *to,
                        i64 to_step) {
  i64 k = 0;
#if defined(HAS_SHUFFLES)
  typedef f32 Four __attribute__((vector_size(16), aligned(4), may_alias));
#define FOUR(x) (*(const Four *)(x))
#define PUT(to, a, b, ...) *(Four *)(to) = __builtin_shufflevector(a, b, __VA_ARGS__)
  for (; k + 4 <= columns; k += 4) {
    const f32 *x = from + k * step;
    i64 i = 0;
    for (; i + 4 <= rows; i += 4) {
      const Four a = FOUR(x + i), b = FOUR(x + step + i), c = FOUR(x + 2 * step + i),
                 d = FOUR(x + 3 * step + i);
      const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                 cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      PUT(to + i * to_step + k, ab, cd, 0, 1, 4, 5);
      PUT(to + (i + 1) * to_step + k, ab, cd, 2, 3, 6, 7);
      PUT(to + (i + 2) * to_step + k, ab2, cd2, 0, 1, 4, 5);
      PUT(to + (i + 3) * to_step + k, ab2, cd2, 2, 3, 6, 7);
    }
    for (; i < rows; i++)
      for (i64 j = 0; j < 4; j++) to[i * to_step + k + j] = x[j * step + i];
  }
#undef FOUR
#undef PUT
#endif
  for (; k < columns; k++)
    for (i64 i = 0; i < rows; i++) to[i * to_step + k] = from[k * step + i];
}

#endif
