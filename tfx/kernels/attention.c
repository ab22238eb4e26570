#include "attention.h"
#include "memory.h"
#include "tiles.h"
#include "turn.h"

#include <math.h>
#include <string.h>

/* Queries that are taken at a time, and in how many parts the work is divided at most: each has memory of
   its own. */
#ifndef QUERIES /* tests have less */
#define QUERIES 48
#endif
enum { MOST_PARTS = 32, FEW_HEADS = 16, QUERIES_OF_PART = 4 * QUERIES };
/* Forwards they are as many as there are rows of a tile: the fewer, the fewer keys are in sight of one. */
#ifndef QUERIES_FORWARDS
#define QUERIES_FORWARDS 12
#endif

/* So many are not worth packing keys and values for. */
#ifndef FEW_QUERIES
#define FEW_QUERIES 2
#endif

/* Exponents from which on there is nothing but 0. */
static const f32 NOTHING = -104.0f;

typedef struct {
  const Attention *does;
  const Tiles *tiles;
  const Rows *rows;
  Spread to, slopes, dq, dk, dv; /* data is written to where it is a result's */
  f32 *kept;
  i64 scratch_size; /* of a part */
  i64 heads, chunks, parts;
  char lacks_memory[MOST_PARTS];
} Division;

/* One head's memory: panels of matrices as ``Tiles`` have them, and rows of scores. */
typedef struct {
  f32 *keys, *values, *turned; /* panels */
  f32 *slopes, *queries;       /* panels without a first row */
  f32 *scores, *of_scores;     /* [QUERIES, stride] */
  f32 *results;                /* [QUERIES, widest] */
  f32 *sums[2]; /* of gradients of keys and values: [keys, size or width], filled up */
} Memory;

/* A matrix: where it begins, and the steps from row to row and from column to column. */
typedef struct {
  f32 *data;
  i64 row, column;
} Matrix;

static Matrix matrix_of(const Spread *of, int rank, i64 begin) {
  return (Matrix){(f32 *)of->data + begin, of->steps[rank - 2], of->steps[rank - 1]};
}

static i64 filled(const Division *division, i64 n) {
  return parts_of(n, division->tiles->columns) * division->tiles->columns;
}

/* Panels of the columns of ``from[rows, columns]``: a row of zeros first, if that is asked for. */
static void pack(const Division *division, Matrix from, i64 rows, i64 columns, int zeros,
                 f32 *to) {
  const i64 width = division->tiles->columns;
  for (i64 first = 0; first < columns; first += width) {
    const i64 n = smaller(width, columns - first);
    const f32 *begin = from.data + first * from.column;
    if (zeros) memset(to, 0, (size_t)width * sizeof *to), to += width;
    if (n < width) memset(to, 0, (size_t)(rows * width) * sizeof *to);
    if (from.column == 1 && n == MAX_COLUMNS) {
      for (i64 row = 0; row < rows; row++)
        memcpy(to + row * MAX_COLUMNS, begin + row * from.row, MAX_COLUMNS * sizeof *to);
    } else if (from.column == 1) {
      for (i64 row = 0; row < rows; row++)
        memcpy(to + row * width, begin + row * from.row, (size_t)n * sizeof *to);
    } else if (from.row == 1) {
      turn(begin, from.column, rows, n, to, width);
    } else {
      for (i64 row = 0; row < rows; row++)
        for (i64 k = 0; k < n; k++)
          to[row * width + k] = begin[row * from.row + k * from.column];
    }
    to += rows * width;
  }
}

static Matrix turned(Matrix m) { return (Matrix){m.data, m.column, m.row}; }

/* ``to[count, columns]``: rows times what the panels hold; both have steps from row to row. */
static void product(const Division *division, const f32 *rows, i64 step, i64 count, i64 inner,
                    i64 rows_of_panel, const f32 *panels, i64 columns, f32 *to, i64 to_step) {
  const Tiles *tiles = division->tiles;
  const i64 run = 0;
  for (i64 first = 0; first < columns; first += tiles->columns) {
    const i64 n = smaller(tiles->columns, columns - first);
    for (i64 i = 0; i < count;) {
      const int some = rows_at_once(tiles, count - i);
      const f32 *at[MAX_ROWS];
      f32 *into[MAX_ROWS];
      for (int j = 0; j < some; j++) {
        at[j] = rows + (i + j) * step;
        into[j] = to + (i + j) * to_step + first;
      }
      packed_tile(tiles, some, at, &run, 1, inner, panels, into, (int)n, 0);
      i += some;
    }
    panels += (1 + rows_of_panel) * tiles->columns;
  }
}

/* ``to[columns of x, width]``, which is filled up: plus x turned times what the panels hold. */
static void add_turned(const Division *division, const f32 *x, i64 stride, i64 rows,
                       i64 columns, const f32 *panels, i64 width, f32 *to, i64 to_step) {
  const Tiles *tiles = division->tiles;
  const i64 run = 0;
  for (i64 first = 0; first < width; first += tiles->columns) {
    for (i64 k = 0; k < columns;) {
      const int some = rows_at_once(tiles, columns - k);
      const f32 *at[MAX_ROWS];
      f32 *into[MAX_ROWS];
      for (int j = 0; j < some; j++) {
        at[j] = x + k + j;
        into[j] = to + (k + j) * to_step + first;
      }
      tiles->tile[some](at, &run, 1, rows, stride, NULL, panels, tiles->columns, into,
                        tiles->columns, 0);
      k += some;
    }
    panels += rows * tiles->columns;
  }
}

/* A head's place along the outer axes. */
static i64 begin_of(const Spread *of, const Softmax *sizes, i64 head) {
  i64 begin = 0;
  for (int axis = sizes->rank - 3; axis >= 0; axis--) {
    begin += head % sizes->sizes[axis] * of->steps[axis];
    head /= sizes->sizes[axis];
  }
  return begin;
}

/* How many keys some queries may look at: those behind all count for nothing, by the mask. */
static i64 keys_in_sight(const Softmax *softmax, const unsigned char *mask, i64 queries) {
  const int rank = softmax->rank;
  const i64 keys = softmax->sizes[rank - 1], row = softmax->mask.steps[rank - 2];
  const uint64_t none = 0x0101010101010101;
  const int counts = softmax->masks == COUNTS_TRUE;
  i64 seen = 0;
  if ((softmax->masks != COUNTS_TRUE && softmax->masks != COUNTS_FALSE) ||
      softmax->mask.steps[rank - 1] != 1)
    return keys;
  for (i64 i = 0; i < (row ? queries : 1) && seen < keys; i++) {
    const unsigned char *at = mask + i * row;
    i64 k = keys;
    /* Whole words of what does not count: a bool is 0 or 1. */
    for (uint64_t word; k - seen >= (i64)sizeof word; k -= (i64)sizeof word) {
      memcpy(&word, at + k - sizeof word, sizeof word);
      if (word != (counts ? 0 : none)) break;
    }
    while (k > seen && (at[k - 1] != 0) != counts) k--;
    seen = k;
  }
  return seen ? seen : keys;
}

/* Some queries of a head. */
typedef struct {
  i64 first, count;
  const char *mask; /* of the first one */
  f32 *kept;
} Queries;

static Row row_of(const Attention *does, const Queries *queries, const f32 *scores, i64 i) {
  const Softmax *softmax = &does->softmax;
  const i64 bytes = softmax->masks == ADDED ? (i64)sizeof(f32) : 1;
  const i64 step = softmax->mask.steps[softmax->rank - 2];
  return (Row){scores, softmax->masks ? queries->mask + i * step * bytes : NULL, 1,
               softmax->mask.steps[softmax->rank - 1]};
}

/* Rows of a matrix whose elements stand one behind the other: its own, or copies. */
static const f32 *rows_of(Matrix from, i64 rows, i64 columns, f32 *copies, i64 *step) {
  *step = from.row;
  if (from.column == 1) return from.data;
  for (i64 i = 0; i < rows; i++)
    for (i64 j = 0; j < columns; j++)
      copies[i * columns + j] = from.data[i * from.row + j * from.column];
  *step = columns;
  return copies;
}

/* Scores of some queries with the first keys. */
static void score(const Division *division, const Memory *memory, Matrix q,
                  const Queries *queries, i64 keys, i64 stride) {
  const Attention *does = division->does;
  const Matrix asked = {q.data + queries->first * q.row, q.row, q.column};
  i64 step;
  const f32 *rows = rows_of(asked, queries->count, does->size, memory->results, &step);
  product(division, rows, step, queries->count, does->size, does->size, memory->keys, keys,
          memory->scores, stride);
}

typedef f32 Vector
    __attribute__((vector_size(COMMON_LANES * sizeof(f32)), aligned(4), may_alias));

static f32 dot(const f32 *x, const f32 *y, i64 n) {
  Vector sums[2] = {{0}, {0}};
  f32 parts[2 * COMMON_LANES];
  i64 i = 0;
  for (; i + 2 * COMMON_LANES <= n; i += 2 * COMMON_LANES)
    UNROLLED for (int v = 0; v < 2; v++) sums[v] =
        sums[v] + *(const Vector *)(x + i + v * COMMON_LANES) *
                      *(const Vector *)(y + i + v * COMMON_LANES);
  memcpy(parts, sums, sizeof parts);
  UNROLLED for (int half = COMMON_LANES; half; half /= 2)
      UNROLLED for (int k = 0; k < half; k++) parts[k] += parts[k + half];
  for (; i < n; i++) parts[0] += x[i] * y[i];
  return parts[0];
}

static void add_times(f32 *restrict to, const f32 *restrict x, f32 by, i64 n) {
  i64 i = 0;
  for (; i + COMMON_LANES <= n; i += COMMON_LANES)
    *(Vector *)(to + i) = *(const Vector *)(to + i) + *(const Vector *)(x + i) * by;
  for (; i < n; i++) to[i] += x[i] * by;
}

/* The same for few queries, such as the next word of a text: keys are read as they are. */
static void score_few(const Division *division, const Memory *memory, Matrix q, Matrix k,
                      const Queries *queries, i64 keys, i64 stride) {
  const Attention *does = division->does;
  const Matrix asked = {q.data + queries->first * q.row, q.row, q.column};
  i64 step;
  const f32 *rows = rows_of(asked, queries->count, does->size, memory->results, &step);
  for (i64 key = 0; key < keys; key++)
    for (i64 i = 0; i < queries->count; i++)
      memory->scores[i * stride + key] = dot(rows + i * step, k.data + key * k.row, does->size);
}

/* Sums of values, as they are, by the weights of few queries. */
static void mix_few(const Division *division, const Memory *memory, Matrix v,
                    const Queries *queries, i64 keys, i64 stride) {
  const i64 width = division->does->width;
  memset(memory->results, 0, (size_t)(queries->count * width) * sizeof(f32));
  for (i64 key = 0; key < keys; key++)
    for (i64 i = 0; i < queries->count; i++)
      add_times(memory->results + i * width, v.data + key * v.row,
                memory->scores[i * stride + key], width);
}

/* From scores to what stands above the sum of a softmax; what was kept is written. Returns 0 if keys that were
   left out count for something. */
static int weigh(const Division *division, const Memory *memory, const Queries *queries,
                 i64 keys, i64 stride) {
  const Attention *does = division->does;
  const Softmax *softmax = &does->softmax;
  const int all = keys == softmax->sizes[softmax->rank - 1];
  for (i64 i = 0; i < queries->count; i++) {
    f32 *scores = memory->scores + i * stride, *kept = queries->kept + i * KEPT;
    const Row row = row_of(does, queries, scores, i);
    const i64 groups = division->rows->load(softmax, &row, 0, keys, scores);
    kept[0] = keys ? division->rows->largest(scores, groups, -INFINITY) : 0;
    if (!all && !(softmax->fill - kept[0] < NOTHING)) return 0;
    kept[1] = keys ? (f32)(1 / division->rows->exponentials(scores, groups, kept[0])) : 0;
  }
  return 1;
}

static i64 stride_of(const Division *division) {
  const Softmax *softmax = &division->does->softmax;
  return larger(filled(division, softmax->sizes[softmax->rank - 1]),
                parts_of(softmax->sizes[softmax->rank - 1], GROUP) * GROUP);
}

static void attend(const Division *division, const Memory *memory, i64 head, i64 first,
                   i64 last) {
  const Attention *does = division->does;
  const Softmax *softmax = &does->softmax;
  const int rank = softmax->rank;
  const i64 keys = softmax->sizes[rank - 1], stride = stride_of(division);
  const i64 bytes = softmax->masks == ADDED ? (i64)sizeof(f32) : 1;
  const Matrix q = matrix_of(&does->q, rank, begin_of(&does->q, softmax, head));
  const Matrix k = matrix_of(&does->k, rank, begin_of(&does->k, softmax, head));
  const Matrix v = matrix_of(&does->v, rank, begin_of(&does->v, softmax, head));
  const Matrix to = matrix_of(&division->to, rank, begin_of(&division->to, softmax, head));
  const i64 mask = softmax->masks ? begin_of(&softmax->mask, softmax, head) : 0;
  const int few = last - first <= FEW_QUERIES && k.column == 1 && v.column == 1;
  if (!few) {
    pack(division, turned(k), does->size, keys, 1, memory->keys);
    pack(division, v, keys, does->width, 1, memory->values);
  }
  for (i64 i = first; i < last; i += QUERIES_FORWARDS) {
    Queries queries = {.first = i, .count = smaller(QUERIES_FORWARDS, last - i)};
    queries.kept = division->kept + (head * softmax->sizes[rank - 2] + i) * KEPT;
    if (softmax->masks)
      queries.mask =
          (const char *)softmax->mask.data + (mask + i * softmax->mask.steps[rank - 2]) * bytes;
    i64 seen = keys_in_sight(softmax, (const unsigned char *)queries.mask, queries.count);
    for (int known = 0; !known; seen = known ? seen : keys) {
      if (few)
        score_few(division, memory, q, k, &queries, seen, stride);
      else
        score(division, memory, q, &queries, seen, stride);
      known = weigh(division, memory, &queries, seen, stride);
    }
    if (few)
      mix_few(division, memory, v, &queries, seen, stride);
    else
      product(division, memory->scores, stride, queries.count, seen, keys, memory->values,
              does->width, memory->results, does->width);
    for (i64 j = 0; j < queries.count; j++) {
      const f32 *from = memory->results + j * does->width, by = queries.kept[j * KEPT + 1];
      f32 *into = to.data + (i + j) * to.row;
      if (to.column == 1)
        division->rows->multiply(from, by, into, does->width);
      else
        for (i64 c = 0; c < does->width; c++) into[c * to.column] = from[c] * by;
    }
  }
}

/* Softmax and its gradient for some queries, from their scores and the slopes of these. */
static void slope(const Division *division, const Memory *memory, const Queries *queries,
                  i64 keys, i64 stride) {
  const Attention *does = division->does;
  const Softmax *softmax = &does->softmax;
  const SoftmaxSlope back = {.rank = softmax->rank,
                             .masks = softmax->masks == ADDED ? NO_MASK : softmax->masks,
                             .mask = softmax->mask,
                             .scales = softmax->factor != 1 ? MULTIPLIED : NOT_SCALED,
                             .scale = softmax->factor};
  for (i64 i = 0; i < queries->count; i++) {
    f32 *y = memory->scores + i * stride, *dy = memory->of_scores + i * stride;
    const f32 *kept = queries->kept + i * KEPT;
    const Row row = row_of(does, queries, y, i);
    const i64 groups = division->rows->load(softmax, &row, 0, keys, y);
    division->rows->exponentials(y, groups, kept[0]);
    division->rows->multiply(y, kept[1], y, keys);
    division->rows->slopes(&back, y, dy, back.masks ? (const unsigned char *)row.mask : NULL,
                           keys, dy);
  }
}

/* Whether what the mask leaves out counts for nothing in all rows. */
static int are_out_of_sight(const Softmax *softmax, const Queries *queries) {
  for (i64 i = 0; i < queries->count; i++)
    if (!(softmax->fill - queries->kept[i * KEPT] < NOTHING)) return 0;
  return 1;
}

static void write_rows(Matrix to, const f32 *from, i64 step, i64 rows, i64 columns) {
  for (i64 i = 0; i < rows; i++) {
    f32 *into = to.data + i * to.row;
    if (to.column == 1)
      memcpy(into, from + i * step, (size_t)columns * sizeof *into);
    else
      for (i64 j = 0; j < columns; j++) into[j * to.column] = from[i * step + j];
  }
}

static void attend_back(const Division *division, const Memory *memory, i64 head) {
  const Attention *does = division->does;
  const Softmax *softmax = &does->softmax;
  const int rank = softmax->rank;
  const i64 all = softmax->sizes[rank - 2], keys = softmax->sizes[rank - 1];
  const i64 stride = stride_of(division),
            bytes = softmax->masks == ADDED ? (i64)sizeof(f32) : 1;
  const i64 size = filled(division, does->size), width = filled(division, does->width);
  const Matrix q = matrix_of(&does->q, rank, begin_of(&does->q, softmax, head));
  const Matrix k = matrix_of(&does->k, rank, begin_of(&does->k, softmax, head));
  const Matrix v = matrix_of(&does->v, rank, begin_of(&does->v, softmax, head));
  const Matrix dy =
      matrix_of(&division->slopes, rank, begin_of(&division->slopes, softmax, head));
  const Matrix dq = matrix_of(&division->dq, rank, begin_of(&division->dq, softmax, head));
  const Matrix dk = matrix_of(&division->dk, rank, begin_of(&division->dk, softmax, head));
  const Matrix dv = matrix_of(&division->dv, rank, begin_of(&division->dv, softmax, head));
  const i64 mask = softmax->masks ? begin_of(&softmax->mask, softmax, head) : 0;
  pack(division, turned(k), does->size, keys, 1, memory->keys);
  pack(division, k, keys, does->size, 1, memory->turned);
  pack(division, turned(v), does->width, keys, 1, memory->values);
  memset(memory->sums[0], 0, (size_t)(keys * size) * sizeof(f32));
  memset(memory->sums[1], 0, (size_t)(keys * width) * sizeof(f32));
  for (i64 i = 0; i < all; i += QUERIES) {
    Queries queries = {.first = i, .count = smaller(QUERIES, all - i)};
    queries.kept = division->kept + (head * all + i) * KEPT;
    if (softmax->masks)
      queries.mask =
          (const char *)softmax->mask.data + (mask + i * softmax->mask.steps[rank - 2]) * bytes;
    i64 seen = keys_in_sight(softmax, (const unsigned char *)queries.mask, queries.count);
    if (seen < keys && !are_out_of_sight(softmax, &queries)) seen = keys;
    score(division, memory, q, &queries, seen, stride);
    const Matrix some = {dy.data + i * dy.row, dy.row, dy.column};
    const Matrix asked = {q.data + i * q.row, q.row, q.column};
    i64 step;
    const f32 *rows = rows_of(some, queries.count, does->width, memory->results, &step);
    product(division, rows, step, queries.count, does->width, does->width, memory->values, seen,
            memory->of_scores, stride);
    slope(division, memory, &queries, seen, stride);
    const Matrix into = {dq.data + i * dq.row, dq.row, dq.column};
    const int at_once = into.column == 1;
    product(division, memory->of_scores, stride, queries.count, seen, keys, memory->turned,
            does->size, at_once ? into.data : memory->results, at_once ? into.row : does->size);
    if (!at_once) write_rows(into, memory->results, does->size, queries.count, does->size);
    pack(division, some, queries.count, does->width, 0, memory->slopes);
    pack(division, asked, queries.count, does->size, 0, memory->queries);
    add_turned(division, memory->scores, stride, queries.count, seen, memory->slopes,
               does->width, memory->sums[1], width);
    add_turned(division, memory->of_scores, stride, queries.count, seen, memory->queries,
               does->size, memory->sums[0], size);
  }
  write_rows(dk, memory->sums[0], size, keys, does->size);
  write_rows(dv, memory->sums[1], width, keys, does->width);
}

/* --- memory, and parts --------------------------------------------------------------------------- */

/* The next so many numbers of a part's memory; with none, they are only counted. */
static f32 *take(f32 **from, i64 *count, i64 n) {
  f32 *taken = *from;
  n = in_whole_lines(n);
  *count += n;
  if (taken) *from += n;
  return taken;
}

static Memory divide_memory(const Division *division, f32 *from, int is_gradient, i64 *count) {
  const Attention *does = division->does;
  const Softmax *softmax = &does->softmax;
  const i64 keys = softmax->sizes[softmax->rank - 1], stride = stride_of(division);
  const i64 size = filled(division, does->size), width = filled(division, does->width);
  const i64 columns = filled(division, keys);
  Memory memory = {0};
  *count = 0;
  memory.keys = take(&from, count, (1 + does->size) * columns);
  memory.scores = take(&from, count, QUERIES * stride);
  memory.results = take(&from, count, QUERIES * larger(does->size, does->width));
  if (!is_gradient) {
    memory.values = take(&from, count, (1 + keys) * width);
    return memory;
  }
  memory.values = take(&from, count, (1 + does->width) * columns);
  memory.turned = take(&from, count, (1 + keys) * size);
  memory.slopes = take(&from, count, QUERIES * width);
  memory.queries = take(&from, count, QUERIES * size);
  memory.of_scores = take(&from, count, QUERIES * stride);
  memory.sums[0] = take(&from, count, keys * size);
  memory.sums[1] = take(&from, count, keys * width);
  return memory;
}

/* A part has memory while it is computed, so there is as much as there are threads. */
static void compute_part(void *data, size_t index) {
  Division *division = data;
  const Softmax *softmax = &division->does->softmax;
  const i64 queries = softmax->sizes[softmax->rank - 2], part = (i64)index;
  const int is_gradient = division->slopes.data != NULL;
  const i64 items = division->heads * division->chunks;
  i64 count;
  f32 *scratch = numbers_in_lines((size_t)division->scratch_size);
  if (!scratch) {
    division->lacks_memory[part] = 1;
    return;
  }
  const Memory memory = divide_memory(division, scratch, is_gradient, &count);
  for (i64 item = items * part / division->parts, end = items * (part + 1) / division->parts;
       item < end; item++) {
    const i64 head = item / division->chunks, chunk = item % division->chunks;
    if (is_gradient)
      attend_back(division, &memory, head);
    else
      attend(division, &memory, head, queries * chunk / division->chunks,
             queries * (chunk + 1) / division->chunks);
  }
  free_lines(scratch);
}

static int compute_all(Division *division, const Host *host) {
  const Softmax *softmax = &division->does->softmax;
  const int is_gradient = division->slopes.data != NULL;
  division->tiles = best_tiles();
  division->rows = best_rows();
  division->heads = elements(softmax->sizes, softmax->rank - 2);
  division->chunks = 1;
  if (!is_gradient && division->heads < FEW_HEADS)
    division->chunks = larger(1, parts_of(softmax->sizes[softmax->rank - 2], QUERIES_OF_PART));
  division->parts = smaller(MOST_PARTS, division->heads * division->chunks);
  if (!division->parts) return 0;
  divide_memory(division, NULL, is_gradient, &division->scratch_size);
  int failed =
      host->in_parallel(host->context, compute_part, (size_t)division->parts, division);
  for (i64 part = 0; part < division->parts && !failed; part++)
    failed = -division->lacks_memory[part];
  return failed;
}

int is_possible_attention(const Attention *does) {
  const Softmax *softmax = &does->softmax;
  const f64 block = 64, limit = 0x1p44, parts = MOST_PARTS;
  const f64 keys = (f64)softmax->sizes[softmax->rank - 1] + block;
  const f64 sizes = 2 * ((f64)does->size + (f64)does->width) + 4 * block + 2 * QUERIES;
  f64 heads = 1;
  for (int axis = 0; axis < softmax->rank - 1; axis++)
    heads *= softmax->sizes[axis] < 1 ? 1 : (f64)softmax->sizes[axis];
  const f64 results = heads * ((f64)does->size + (f64)does->width + block);
  return parts * sizes * keys < limit && results < limit;
}

int attention(const Attention *does, const Spread *to, f32 *kept, const Host *host) {
  Division division = {.does = does, .to = *to, .kept = kept};
  return compute_all(&division, host);
}

int attention_gradient(const Attention *does, const f32 *kept, const Spread *slopes,
                       const Spread *dq, const Spread *dk, const Spread *dv, const Host *host) {
  Division division = {
      .does = does, .slopes = *slopes, .dq = *dq, .dk = *dk, .dv = *dv, .kept = (f32 *)kept};
  return compute_all(&division, host);
}
