#include "softmax.h"
#include "processor.h"

#include <math.h>
#include <string.h>

#include "functions.inc"

/* How much of a row is kept at a time. */
#ifndef BLOCK /* tests have less */
#define BLOCK 4096
#endif
/* Groups that are added in float32, before their sum is added to others in float64. */
enum { IN_A_SUM = 128 };
/* Numbers that a thread takes at a time, at least. */
#ifndef PART
#define PART (1 << 14)
#endif

#define JOIN(name) name##_plain
#define TARGET
#define LANES COMMON_LANES
#include "softmax_rows.inc"
#undef JOIN
#undef TARGET
#undef LANES
#if defined(__x86_64__)
#define JOIN(name) name##_avx512
#if defined(__clang__)
#define TARGET __attribute__((target("avx512f"), min_vector_width(512)))
#else
#define TARGET __attribute__((target("avx512f,prefer-vector-width=512")))
#endif
#define LANES 16
#include "softmax_rows.inc"
#ifndef HAS_AVX512 /* tests say no */
#define HAS_AVX512 has_vectors(VECTORS_AVX512)
#endif
#endif

const Rows *best_rows(void) {
#if defined(__x86_64__)
  return HAS_AVX512 ? &rows_avx512 : &rows_plain;
#else
  return &rows_plain;
#endif
}

/* Rows, of which a part takes some. */
typedef struct {
  const Softmax *softmax; /* or NULL */
  const SoftmaxSlope *slope;
  const Rows *rows;
  f32 *to;
  i64 count, at_once, n;
} Division;

static Division divide(int rank, const i64 *sizes, f32 *to) {
  const i64 n = sizes[rank - 1];
  return (Division){.rows = best_rows(),
                    .to = to,
                    .count = n ? elements(sizes, rank - 1) : 0,
                    .at_once = larger(1, PART / larger(n, 1)),
                    .n = n};
}

/* A row, as its places along all axes but the last. */
typedef struct {
  int axes;
  const i64 *sizes;
  i64 at[MAX_RANK];
} Place;

static Place place_of(int rank, const i64 *sizes, i64 row) {
  Place place = {.axes = rank - 1, .sizes = sizes};
  for (int axis = rank - 2; axis >= 0; axis--) {
    place.at[axis] = row % sizes[axis];
    row /= sizes[axis];
  }
  return place;
}

static void go_on(Place *place) {
  for (int axis = place->axes - 1; axis >= 0; axis--) {
    if (++place->at[axis] < place->sizes[axis]) return;
    place->at[axis] = 0;
  }
}

/* Where a row of a tensor begins, in elements. */
static i64 begin_of(const Spread *of, const Place *place) {
  i64 begin = 0;
  for (int axis = 0; axis < place->axes; axis++) begin += place->at[axis] * of->steps[axis];
  return begin;
}

static void compute_row(const Rows *rows, const Softmax *does, const Row *row, i64 n, f32 *to) {
  f32 part[BLOCK], most = -INFINITY;
  i64 groups = 0;
  for (i64 begin = 0; begin < n; begin += BLOCK) {
    groups = rows->load(does, row, begin, smaller(begin + BLOCK, n), part);
    most = rows->largest(part, groups, most);
  }
  if (n <= BLOCK) {
    const f64 total = rows->exponentials(part, groups, most);
    rows->multiply(part, (f32)(1 / total), to, n);
    return;
  }
  f64 total = 0;
  for (i64 begin = 0; begin < n; begin += BLOCK) {
    const i64 end = smaller(begin + BLOCK, n);
    groups = rows->load(does, row, begin, end, part);
    total += rows->exponentials(part, groups, most);
    memcpy(to + begin, part, (size_t)(end - begin) * sizeof *to);
  }
  rows->multiply(to, (f32)(1 / total), to, n);
}

static void compute_rows(const Division *division, i64 first, i64 last) {
  const Softmax *does = division->softmax;
  const int axis = does->rank - 1;
  const i64 size = does->masks == ADDED ? (i64)sizeof(f32) : 1;
  Row row = {.x_step = does->scores.steps[axis], .mask_step = does->mask.steps[axis]};
  Place place = place_of(does->rank, does->sizes, first);
  for (i64 i = first; i < last; i++, go_on(&place)) {
    row.x = (const f32 *)does->scores.data + begin_of(&does->scores, &place);
    if (does->masks)
      row.mask = (const char *)does->mask.data + size * begin_of(&does->mask, &place);
    compute_row(division->rows, does, &row, division->n, division->to + i * division->n);
  }
}

static void compute_slopes(const Division *division, i64 first, i64 last) {
  const SoftmaxSlope *does = division->slope;
  const i64 n = division->n;
  const unsigned char *mask = NULL;
  Place place = place_of(does->rank, does->sizes, first);
  for (i64 i = first; i < last; i++, go_on(&place)) {
    if (does->masks)
      mask = (const unsigned char *)does->mask.data + begin_of(&does->mask, &place);
    division->rows->slopes(does, does->y + i * n, does->dy + i * n, mask, n,
                           division->to + i * n);
  }
}

static void compute_part(void *data, size_t index) {
  const Division *division = data;
  const i64 first = (i64)index * division->at_once;
  const i64 last = smaller(division->count, first + division->at_once);
  (division->softmax ? compute_rows : compute_slopes)(division, first, last);
}

static int compute_all(Division *division, const Host *host) {
  const i64 parts = (division->count + division->at_once - 1) / division->at_once;
  return parts ? host->in_parallel(host->context, compute_part, (size_t)parts, division) : 0;
}

int softmax(const Softmax *does, f32 *to, const Host *host) {
  Division division = divide(does->rank, does->sizes, to);
  division.softmax = does;
  return compute_all(&division, host);
}

int softmax_gradient(const SoftmaxSlope *does, f32 *to, const Host *host) {
  Division division = divide(does->rank, does->sizes, to);
  division.slope = does;
  return compute_all(&division, host);
}
