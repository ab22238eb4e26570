/* Blocks of products of matrices that stay in registers while they are summed up. */

#ifndef TFX_TILES_H
#define TFX_TILES_H

#include "numbers.h"

enum { MAX_ROWS = 12, MAX_COLUMNS = 32 };

/* Products that are added in a row in float32, before their sum is added to others. */
#ifndef IN_A_ROW /* tests have less */
#define IN_A_ROW 128
#endif

/* See ``TILE_OF`` and ``SUMS_OF`` in tiles.inc. */
typedef void (*Tile)(const f32 *const *rows, const i64 *runs, i64 count, i64 length,
                     const f32 *panel, f32 *const *to, int columns, int positive);
typedef void (*Sums)(const i64 *offsets, const f32 *x, i64 x_line, i64 x_step, const f32 *dy,
                     i64 lines, i64 positions, f32 *to, i64 to_step, int columns);

/* Functions by the number of rows, for some numbers. */
typedef struct {
  int rows, columns;
  Tile tile[MAX_ROWS + 1];
  Sums sums[MAX_ROWS + 1];
} Tiles;

/* Those for the processor at hand. */
const Tiles *best_tiles(void);

/* As many of the rows that are left as there is a function for. */
static inline int rows_at_once(const Tiles *tiles, i64 left) {
  int count = left < tiles->rows ? (int)left : tiles->rows;
  while (!tiles->tile[count]) count--;
  return count;
}

static inline i64 parts_of(i64 whole, i64 part) { return (whole + part - 1) / part; }

#endif
