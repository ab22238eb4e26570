/* Products of matrices, by tiles. The work is cut into boxes, along the rows and the columns of
   the result, or along what is summed up where the result is small; threads take one box after
   the other. In a box, the right matrix is packed into panels of so many columns as a tile has,
   and a left one that is turned into strips of so many rows: as much at a time as the
   processor's second cache holds.

   Where there are few rows, the right matrix is read where it stands: each number of it is used
   but once. */

#include "matmul.h"
#include "memory.h"
#include "tiles.h"
#include "turn.h"
#include "vectors.h"

#include <stdatomic.h>
#include <string.h>

#ifndef BLOCK_ROWS /* tests have less */
#define BLOCK_ROWS 96
/* Of what is summed up at a time, at most; less with strips, which are packed again for each
   box along the columns, so that there are fewer of these; and numbers of panels that are
   packed at a time. */
#define LONGEST 1024
#define LONGEST_OF_STRIPS 384
#define MOST_PACKED (1 << 17)
/* Numbers of a small result, and of what is summed up for it in each box at least. */
#define SMALL_RESULT (1 << 18)
#define LEAST_SUMMED 256
/* Products that are worth a thread. */
#define LEAST_SHARED (1 << 16)
#endif
enum { BOXES = 8, MOST_PARTS = 64 };
/* Rows that are multiplied with those of one that is turned, one by one; tiles of rows for
   which the right matrix stays where it is; and rows of a panel that are turned at a time. */
enum { FEW_ROWS = 4, TILES_IN_PLACE = 2, AT_ONCE = 64 };

_Static_assert(LONGEST % IN_A_ROW == 0 && LONGEST_OF_STRIPS % IN_A_ROW == 0,
               "sums of short ones are whole wherever they are cut");

/* From the first to before the last of the rows, of the columns and of what is summed up. */
typedef struct {
  i64 row, last_row, column, last_column, inner, last_inner;
} Box;

typedef struct {
  const Matmul *does;
  const Tiles *tiles;
  const f32 *left, *right, *bias;
  f32 *to, *sums; /* the result; those of boxes along what is summed up, one behind the other */
  f32 *first;     /* the bias, filled up to whole panels, or the zeros of one */
  i64 height, width;         /* of a tile */
  i64 packed;                /* numbers of panels that are packed at a time */
  i64 rows, columns, inners; /* how many boxes there are along each */
  i64 parts;
  atomic_int lacks_memory;
} Multiplying;

/* --- packing ----------------------------------------------------------------------------------- */

/* ``to[inners, width]``: columns of the right matrix, with zeros behind the last one. */
static void pack_panel(const Multiplying *is, i64 column, i64 inner, i64 last_inner, f32 *to) {
  const Matmul *does = is->does;
  const i64 inners = last_inner - inner, n = smaller(is->width, does->columns - column);
  if (n < is->width) memset(to, 0, (size_t)(inners * is->width) * sizeof *to);
  if (does->right_is_turned) {
    const i64 some =
        AT_ONCE; /* rows of the panel stay in the first cache until they are full */
    for (i64 k = 0; k < inners; k += some)
      turn(is->right + column * does->inner + inner + k, does->inner, smaller(some, inners - k),
           n, to + k * is->width, is->width);
    return;
  }
  const f32 *from = is->right + inner * does->columns + column;
  if (n == MAX_COLUMNS) { /* a size that the compiler knows */
    for (i64 k = 0; k < inners; k++)
      memcpy(to + k * MAX_COLUMNS, from + k * does->columns, MAX_COLUMNS * sizeof *to);
  } else {
    for (i64 k = 0; k < inners; k++)
      memcpy(to + k * is->width, from + k * does->columns, (size_t)n * sizeof *to);
  }
}

/* ``to[inners, height]``: rows of a left matrix that is turned. */
static void pack_strip(const Multiplying *is, i64 row, i64 last_row, i64 inner, i64 last_inner,
                       f32 *to) {
  const i64 inners = last_inner - inner, step = is->does->rows;
  const f32 *from = is->left + inner * step + row;
  if (last_row - row >= MAX_ROWS && is->height == MAX_ROWS) {
    for (i64 k = 0; k < inners; k++)
      memcpy(to + k * MAX_ROWS, from + k * step, MAX_ROWS * sizeof *to);
  } else {
    const i64 n = smaller(is->height, last_row - row);
    for (i64 k = 0; k < inners; k++)
      memcpy(to + k * is->height, from + k * step, (size_t)n * sizeof *to);
  }
}

/* --- multiplying ------------------------------------------------------------------------------- */

/* What of a box is multiplied at a time: its columns, as panels, with some rows, perhaps as
   strips. */
typedef struct {
  const f32 *panels, *strips;
  f32 *to;
  i64 inner, last_inner;
  int begins, ends; /* the sums */
} Piece;

static void multiply_panel(const Multiplying *is, const Piece *piece, i64 row, i64 last_row,
                           i64 column, const f32 *panel, i64 step) {
  const Matmul *does = is->does;
  const Tiles *tiles = is->tiles;
  const i64 inners = piece->last_inner - piece->inner, run = 0, strips = row;
  const i64 columns = smaller(is->width, does->columns - column);
  const f32 *first = !piece->begins ? NULL : is->bias ? is->first + column : is->first;
  const int positive = does->is_positive && piece->ends;
  for (i64 count; row < last_row; row += count) {
    const f32 *at[MAX_ROWS];
    f32 *to[MAX_ROWS];
    const f32 *strip =
        piece->strips + (piece->strips ? (row - strips) / is->height * is->height * inners : 0);
    count = rows_at_once(tiles, last_row - row);
    for (i64 i = 0; i < count; i++) {
      at[i] = piece->strips ? strip + (row + i - strips) % is->height
                            : is->left + (row + i) * does->inner + piece->inner;
      to[i] = piece->to + (row + i) * does->columns + column;
    }
    tiles->tile[count](at, &run, 1, inners, piece->strips ? is->height : 1, first, panel, step,
                       to, (int)columns, positive);
  }
}

/* Memory is for panels, and behind them for the strips of a block of rows. */
static void multiply_box(const Multiplying *is, const Box *box, f32 *to, f32 *memory) {
  const Matmul *does = is->does;
  const i64 width = is->width, filled = parts_of(box->last_column - box->column, width) * width;
  const i64 fit =
      does->right_is_packed ? LONGEST : smaller(LONGEST, larger(1, is->packed / filled));
  /* Whole sums of short ones, so that sums are the same however they are cut. */
  const i64 most = fit > IN_A_ROW ? fit / IN_A_ROW * IN_A_ROW : fit;
  f32 *strips = does->left_is_turned ? memory + is->packed : NULL;
  Piece piece = {memory, strips, to, box->inner, box->inner, 1, 0};
  do { /* where nothing is summed up, once */
    piece.inner = piece.last_inner;
    piece.last_inner = smaller(piece.inner + most, box->last_inner);
    piece.ends = piece.last_inner == box->last_inner;
    const i64 inners = piece.last_inner - piece.inner;
    for (i64 column = box->column; column < box->last_column && !does->right_is_packed;
         column += width)
      pack_panel(is, column, piece.inner, piece.last_inner,
                 memory + (column - box->column) * inners);
    for (i64 row = box->row, last; row < box->last_row; row = last) {
      last = smaller(row + BLOCK_ROWS, box->last_row);
      for (i64 i = row; strips && i < last; i += is->height)
        pack_strip(is, i, last, piece.inner, piece.last_inner, strips + (i - row) * inners);
      for (i64 column = box->column; column < box->last_column; column += width) {
        const f32 *panel = does->right_is_packed
                               ? is->right + column * does->inner + piece.inner * width
                               : memory + (column - box->column) * inners;
        multiply_panel(is, &piece, row, last, column, panel, width);
      }
    }
    piece.begins = 0;
  } while (!piece.ends);
}

/* Few rows: only what is behind the last whole panel is packed. */
static void multiply_in_place(const Multiplying *is, const Box *box, f32 *memory) {
  const Matmul *does = is->does;
  for (i64 column = box->column; column < box->last_column; column += is->width) {
    Piece piece = {.to = is->to, .last_inner = smaller(LONGEST, does->inner), .begins = 1};
    for (;;) {
      const f32 *panel = is->right + piece.inner * does->columns + column;
      i64 step = does->columns;
      if (column + is->width > does->columns) {
        pack_panel(is, column, piece.inner, piece.last_inner, memory);
        panel = memory, step = is->width;
      }
      piece.ends = piece.last_inner == does->inner;
      multiply_panel(is, &piece, box->row, box->last_row, column, panel, step);
      if (piece.ends) break;
      piece.begins = 0;
      piece.inner = piece.last_inner;
      piece.last_inner = smaller(piece.inner + LONGEST, does->inner);
    }
  }
}

/* --- one row ----------------------------------------------------------------------------------- */

enum { LANES = VECTOR_BYTES / sizeof(f32), STRETCH = 512, ROWS_AT_ONCE = 4 };

INLINED vector_f32 vector_at(const f32 *from) {
  vector_f32 read;
  memcpy(&read, from, sizeof read);
  return read;
}

/* Add rows of a matrix, ``step`` numbers apart, each times a number; ``sums`` is filled up to whole vectors. */
INLINED void add_rows(const f32 *numbers, const f32 *rows, i64 step, i64 count, f32 *sums,
                      i64 columns) {
  for (i64 i = 0; i < columns; i += LANES) {
    vector_f32 sum = vector_at(sums + i);
    UNROLLED for (i64 row = 0; row < count; row++) {
      const f32 *from = rows + row * step + i;
      vector_f32 by = {0};
      if (columns - i >= LANES)
        by = vector_at(from);
      else
        memcpy(&by, from, (size_t)(columns - i) * sizeof(f32));
      PREFETCH(from + ROWS_AT_ONCE * step);
      sum = ADD_PRODUCT_f32(OF_ONE_f32(numbers[row]), by, sum);
    }
    memcpy(sums + i, &sum, sizeof sum);
  }
}

/* The right matrix is read line by line, and a stretch of columns is summed up in the first cache. In each column
   numbers are added in the order of a tile. */
static void multiply_row_in_place(const Multiplying *is, const Box *box) {
  const Matmul *does = is->does;
  for (i64 column = box->column, count; column < box->last_column; column += count) {
    f32 sums[STRETCH], totals[STRETCH];
    count = smaller(STRETCH, box->last_column - column);
    for (i64 i = 0; i < count; i++) totals[i] = is->bias ? is->bias[column + i] : 0;
    for (i64 k = 0, last; k < does->inner; k = last) {
      last = smaller(k + IN_A_ROW, does->inner);
      memset(sums, 0, sizeof sums);
      const f32 *rows = is->right + k * does->columns + column;
      for (; k + ROWS_AT_ONCE <= last; k += ROWS_AT_ONCE, rows += ROWS_AT_ONCE * does->columns)
        add_rows(is->left + k, rows, does->columns, ROWS_AT_ONCE, sums, count);
      for (; k < last; k++, rows += does->columns)
        add_rows(is->left + k, rows, does->columns, 1, sums, count);
      INDEPENDENT for (i64 i = 0; i < count; i++) totals[i] = totals[i] + sums[i];
    }
    for (i64 i = 0; does->is_positive && i < count; i++)
      if (totals[i] < 0) totals[i] = 0;
    memcpy(is->to + column, totals, (size_t)count * sizeof(f32));
  }
}

static int stays_in_place(const Matmul *does, i64 height) {
  return does->rows <= TILES_IN_PLACE * height && !does->left_is_turned &&
         !does->right_is_turned && !does->right_is_packed;
}

static Box box_at(const Multiplying *is, i64 at) {
  const Matmul *does = is->does;
  const i64 inner = at % is->inners, column = at / is->inners % is->columns;
  const i64 row = at / is->inners / is->columns;
  const i64 tiles = parts_of(does->rows, is->height),
            panels = parts_of(does->columns, is->width);
  return (Box){tiles * row / is->rows * is->height,
               smaller(does->rows, tiles * (row + 1) / is->rows * is->height),
               panels * column / is->columns * is->width,
               smaller(does->columns, panels * (column + 1) / is->columns * is->width),
               does->inner * inner / is->inners,
               does->inner * (inner + 1) / is->inners};
}

static void multiply_part(void *data, size_t index) {
  Multiplying *is = data;
  const i64 part = (i64)index, boxes = is->rows * is->columns * is->inners;
  const i64 block = smaller(BLOCK_ROWS, parts_of(is->does->rows, is->height) * is->height);
  const i64 strips = is->does->left_is_turned ? block * smaller(LONGEST, is->does->inner) : 0;
  f32 *memory = numbers_in_lines((size_t)(is->packed + strips));
  if (!memory) {
    is->lacks_memory = 1;
    return;
  }
  for (i64 at = boxes * part / is->parts; at < boxes * (part + 1) / is->parts; at++) {
    const Box box = box_at(is, at);
    if (is->does->rows == 1 && stays_in_place(is->does, is->height))
      multiply_row_in_place(is, &box);
    else if (stays_in_place(is->does, is->height))
      multiply_in_place(is, &box, memory);
    else
      multiply_box(is, &box,
                   is->sums ? is->sums + at * is->does->rows * is->does->columns : is->to,
                   memory);
  }
  free_lines(memory);
}

/* A part of the result from those of the boxes. */
static void add_part(void *data, size_t index) {
  const Multiplying *is = data;
  const i64 numbers = is->does->rows * is->does->columns,
            from = numbers * (i64)index / is->parts;
  const i64 count = numbers * ((i64)index + 1) / is->parts - from;
  f32 *to = is->to + from;
  memcpy(to, is->sums + from, (size_t)count * sizeof(f32));
  for (i64 at = 1; at < is->inners; at++) {
    const f32 *sum = is->sums + at * numbers + from;
    INDEPENDENT for (i64 i = 0; i < count; i++) to[i] += sum[i];
  }
}

/* --- few rows by those of one that is turned --------------------------------------------------- */

enum { MANY = 4 };

/* Of a row with MANY others. */
static void multiply_rows(const f32 *x, const f32 *const *by, i64 count, f32 *to) {
  vector_f32 total[MANY] = {{0}};
  i64 k = 0;
  while (k + LANES <= count) {
    const i64 end = smaller(count, k + IN_A_ROW * LANES);
    vector_f32 sum[MANY] = {{0}};
    for (; k + LANES <= end; k += LANES) {
      const vector_f32 some = vector_at(x + k);
      UNROLLED for (int i = 0; i < MANY; i++) sum[i] =
          ADD_PRODUCT_f32(some, vector_at(by[i] + k), sum[i]);
    }
    UNROLLED for (int i = 0; i < MANY; i++) total[i] = total[i] + sum[i];
  }
  /* Lane by lane, which stay in registers: reading a part of what was just written waits. */
  UNROLLED for (int i = 0; i < MANY; i++) {
    const vector_f32 t = total[i];
    to[i] = ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
  }
  for (; k < count; k++) UNROLLED for (int i = 0; i < MANY; i++) to[i] += x[k] * by[i][k];
}

static void multiply_rows_of_part(void *data, size_t index) {
  const Multiplying *is = data;
  const Matmul *does = is->does;
  const i64 part = (i64)index, last = does->columns * (part + 1) / is->parts;
  for (i64 column = does->columns * part / is->parts; column < last; column += MANY) {
    const i64 n = smaller(MANY, last - column);
    const f32 *by[MANY];
    f32 products[MANY];
    for (i64 i = 0; i < MANY; i++)
      by[i] = is->right + (column + smaller(i, n - 1)) * does->inner;
    for (i64 row = 0; row < does->rows; row++) {
      multiply_rows(is->left + row * does->inner, by, does->inner, products);
      UNROLLED for (int i = 0; i < MANY; i++) {
        if (i >= n) break;
        const f32 y = products[i] + (is->bias ? is->bias[column + i] : 0);
        is->to[row * does->columns + column + i] = does->is_positive && y < 0 ? 0 : y;
      }
    }
  }
}

/* ----------------------------------------------------------------------------------------------- */

/* Among threads, each of which has enough to do. */
static int share(Multiplying *is, void (*part)(void *data, size_t index), i64 most, f64 work,
                 const Host *host) {
  const f64 worth = work / LEAST_SHARED, limit = (f64)MOST_PARTS;
  is->parts = smaller(most, 1 + (i64)(worth < limit ? worth : limit));
  if (is->parts > 1) return host->in_parallel(host->context, part, (size_t)is->parts, is);
  part(is, 0);
  return 0;
}

/* What is read and written if there are so many boxes, of which some stand along the columns:
   the left matrix is read for each of them, the right one packed for each along the rows. */
static f64 traffic(const Matmul *does, i64 boxes, i64 columns) {
  const f64 rows = (f64)(boxes / columns);
  return (f64)columns * (f64)does->rows + 2 * rows * (f64)does->columns;
}

/* How many boxes there are. Those along what is summed up do not depend on threads, nor, if the
   left matrix is not turned, is there more than one. */
static void cut(Multiplying *is) {
  const Matmul *does = is->does;
  const i64 panels = parts_of(does->columns, is->width), height = is->height;
  const i64 most = does->left_is_turned ? LONGEST_OF_STRIPS : LONGEST;
  const i64 longest = larger(1, smaller(does->inner, most));
  is->rows = is->columns = is->inners = 1;
  if (does->left_is_turned && does->rows * panels * is->width <= SMALL_RESULT && !is->bias &&
      !does->is_positive && does->inner >= BOXES * LEAST_SUMMED)
    is->inners = BOXES;
  if (is->inners == 1) {
    const i64 boxes = larger(BOXES, 2 * does->threads);
    i64 along = 1;
    while (2 * along <= boxes && traffic(does, boxes, 2 * along) < traffic(does, boxes, along))
      along *= 2;
    if (!stays_in_place(does, height))
      along = larger(along, parts_of(panels * is->width * longest, MOST_PACKED));
    is->columns = smaller(panels, along);
    is->rows = smaller(parts_of(does->rows, BLOCK_ROWS), parts_of(boxes, is->columns));
    is->columns = smaller(panels, larger(is->columns, parts_of(boxes, is->rows)));
    if (does->rows == 1 && stays_in_place(does, height)) /* long lines of the right matrix */
      is->columns = smaller(panels, larger(1, does->threads));
  }
  if (does->right_is_packed) return;
  const i64 widest = parts_of(panels, is->columns) * is->width;
  const i64 least = smaller(longest, IN_A_ROW); /* sums of short ones stay whole */
  is->packed = in_whole_lines(widest * larger(least, smaller(longest, MOST_PACKED / widest)));
  if (stays_in_place(does, height)) is->packed = in_whole_lines(is->width * longest);
}

static int fill_first(Multiplying *is) {
  const i64 columns = is->does->columns;
  const i64 count = is->bias ? parts_of(columns, is->width) * is->width : is->width;
  is->first = numbers_in_lines((size_t)count);
  if (!is->first) return -1;
  memset(is->first, 0, (size_t)count * sizeof *is->first);
  if (is->bias) memcpy(is->first, is->bias, (size_t)columns * sizeof *is->first);
  return 0;
}

int multiply_matrices(const Matmul *does, const f32 *left, const f32 *right, const f32 *bias,
                      f32 *to, const Host *host) {
  Multiplying is = {.does = does, .left = left, .right = right, .bias = bias, .to = to};
  const i64 numbers = does->rows * does->columns;
  const f64 products = (f64)numbers * (f64)does->inner;
  if (!numbers) return 0;
  if (does->rows <= FEW_ROWS && does->right_is_turned && !does->left_is_turned)
    return share(&is, multiply_rows_of_part, parts_of(does->columns, MANY), products, host);
  is.tiles = best_tiles();
  is.height = is.tiles->rows, is.width = is.tiles->columns;
  cut(&is);
  if (is.inners > 1) is.sums = numbers_in_lines((size_t)(is.inners * numbers));
  int failed = fill_first(&is) || (is.inners > 1 && !is.sums) ? -1 : 0;
  if (!failed)
    failed = share(&is, multiply_part, is.rows * is.columns * is.inners, products, host);
  if (!failed && is.lacks_memory) failed = -1;
  if (!failed && is.sums)
    failed = share(&is, add_part, numbers, (f64)numbers * (f64)is.inners, host);
  free_lines(is.sums);
  free_lines(is.first);
  return failed;
}

i64 product_panel_width(void) { return best_tiles()->columns; }
