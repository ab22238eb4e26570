/* Blocks of products of matrices that stay in registers while they are summed up. */

#ifndef TFX_TILES_H
#define TFX_TILES_H

#include "numbers.h"

enum { MAX_ROWS = 12, MAX_COLUMNS = 32 };

/* Products that are added in a row in float32, before their sum is added to others. */
#ifndef IN_A_ROW /* tests have less */
#define IN_A_ROW 128
#endif

/* See ``TILE_OF`` in tiles.inc. */
typedef void (*Tile)(const f32 *const *rows, const i64 *runs, i64 count, i64 length, i64 apart,
                     const f32 *first, const f32 *panel, i64 step, f32 *const *to, int columns,
                     int positive);

/* Functions by the number of rows, for some numbers of them. */
typedef struct {
  int rows, columns;
  Tile tile[MAX_ROWS + 1];
} Tiles;

/* Those for the processor at hand. */
const Tiles *best_tiles(void);

/* Whether they are of vectors that were compared with what others have for the processor. */
int tiles_are_wide(void);

/* As many of the rows that are left as there is a function for. */
static inline int rows_at_once(const Tiles *tiles, i64 left) {
  int count = left < tiles->rows ? (int)left : tiles->rows;
  while (!tiles->tile[count]) count--;
  return count;
}

/* The tile of a panel in front of whose rows its first row stands. */
static inline void packed_tile(const Tiles *tiles, i64 count, const f32 *const *rows,
                               const i64 *runs, i64 run_count, i64 length, const f32 *panel,
                               f32 *const *to, int columns, int positive) {
  tiles->tile[count](rows, runs, run_count, length, 1, panel, panel + tiles->columns,
                     tiles->columns, to, columns, positive);
}

static inline i64 parts_of(i64 whole, i64 part) { return (whole + part - 1) / part; }

#endif
