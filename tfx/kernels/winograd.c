/* Tiles of ``side`` by ``side`` results, of filters of ``taps`` by ``taps``, where ``side + taps - 1`` is the
   number of points: a tile is a product of polynomials in two variables, known from its values at as many
   points as it has coefficients. ``values`` gives those of a filter, ``image_values`` those of what a tile
   sees of an image, and ``coefficients``, the transpose of the former, the results from the products at the
   points; gradients are the same with the parts exchanged.

   The points are 0, +-3/4, +-3/2 and infinity. With them the error is about three times that of sums of
   products; with 0, +-1, +-2, which are in most tables, it is ten times. */

#include "winograd.h"
#include "memory.h"
#include "numbers.h"
#include "tiles.h"
#include "vectors.h"

#include <stdatomic.h>
#include <string.h>

enum { POINTS = 6, PLANES = POINTS * POINTS };

#define NEAR 0.75f
#define FAR 1.5f
/* One over the product of a point's distances to the others. */
static const f32 WEIGHTS[POINTS] = {64.0f / 81,  -128.0f / 243, -128.0f / 243,
                                    32.0f / 243, 32.0f / 243,   1};

typedef vector_f32 Vector;
enum { VECTOR_LENGTH = VECTOR_BYTES / sizeof(f32) };
/* One that may begin anywhere. */
typedef f32 Loose __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t Mask __attribute__((vector_size(VECTOR_BYTES)));

static int any_of(Mask mask) {
  int found = 0;
  UNROLLED for (int i = 0; i < VECTOR_LENGTH; i++) found |= mask[i];
  return found;
}

#define TIMES(number, x, sum) ADD_PRODUCT_f32(OF_ONE_f32(number), x, sum)

/* --- values and coefficients ------------------------------------------------------------------- */

/* The values of a polynomial of ``count`` coefficients at the points, in their place. */
INLINED void values(Vector *x, int count) {
  const Vector first = x[0], last = x[count - 1];
  Vector even[2] = {first, first}, odd[2];
  UNROLLED for (int i = 0; i < 2; i++) {
    const f32 point = i ? FAR : NEAR, square = point * point;
    if (count > 2) even[i] = TIMES(square, x[2], even[i]);
    if (count > 4) even[i] = TIMES(square * square, x[4], even[i]);
    odd[i] = OF_ONE_f32(point) * x[1];
    if (count > 3) odd[i] = TIMES(square * point, x[3], odd[i]);
  }
  UNROLLED for (int i = 0; i < 2; i++) {
    x[1 + 2 * i] = even[i] + odd[i];
    x[2 + 2 * i] = even[i] - odd[i];
  }
  x[5] = last;
}

/* The transpose. */
INLINED void coefficients(Vector *x, int count) {
  const Vector near[2] = {x[1] + x[2], x[1] - x[2]}, far[2] = {x[3] + x[4], x[3] - x[4]};
  const Vector last = x[5];
  f32 of_near = 1, of_far = 1;
  x[0] = x[0] + (near[0] + far[0]);
  UNROLLED for (int i = 1; i < count; i++) {
    of_near *= NEAR, of_far *= FAR;
    const Vector sum = i == count - 1 ? last : (Vector){0};
    x[i] = TIMES(of_far, far[i % 2], TIMES(of_near, near[i % 2], sum));
  }
}

/* What of six numbers of an image belongs to each point: the factors of all other points' product. */
INLINED void image_values(Vector *x) {
  const f32 near = NEAR * NEAR, far = FAR * FAR;
  const Vector even[2] = {TIMES(-far, x[2], x[4]), TIMES(-near, x[2], x[4])};
  const Vector odd[2] = {TIMES(-far, x[1], x[3]), TIMES(-near, x[1], x[3])};
  x[0] = TIMES(-(near + far), x[2], TIMES(near * far, x[0], x[4]));
  x[5] = TIMES(-(near + far), x[3], TIMES(near * far, x[1], x[5]));
  x[1] = TIMES(NEAR, odd[0], even[0]);
  x[2] = TIMES(-NEAR, odd[0], even[0]);
  x[3] = TIMES(FAR, odd[1], even[1]);
  x[4] = TIMES(-FAR, odd[1], even[1]);
}

/* The values of a square of ``count`` by ``count`` numbers, whose places in memory are in rows of ``POINTS``;
   or what belongs to the points, of an image. They are written ``plane`` numbers from one another. */
INLINED void to_points(const f32 *const *from, i64 at, int count, int is_image, int weighted,
                       f32 *to, i64 plane) {
  Vector half[PLANES];
  UNROLLED for (int j = 0; j < count; j++) {
    Vector x[POINTS];
    UNROLLED for (int i = 0; i < count; i++) x[i] = *(const Loose *)(from[i * POINTS + j] + at);
    if (is_image)
      image_values(x);
    else
      values(x, count);
    UNROLLED for (int i = 0; i < POINTS; i++) half[i * POINTS + j] = x[i];
  }
  UNROLLED for (int i = 0; i < POINTS; i++) {
    Vector *x = half + i * POINTS;
    if (is_image)
      image_values(x);
    else
      values(x, count);
    UNROLLED for (int j = 0; j < POINTS; j++) {
      if (weighted) x[j] = x[j] * OF_ONE_f32(WEIGHTS[i] * WEIGHTS[j]);
      *(Loose *)(to + (i * POINTS + j) * plane) = x[j];
    }
  }
}

/* The transpose: a square of ``count`` by ``count`` numbers, of which not only those are written. */
INLINED void from_points(const f32 *from, i64 plane, int count, int weighted, Vector *to) {
  UNROLLED for (int j = 0; j < POINTS; j++) {
    Vector x[POINTS];
    UNROLLED for (int i = 0; i < POINTS; i++) {
      x[i] = *(const Loose *)(from + (i * POINTS + j) * plane);
      if (weighted) x[i] = x[i] * OF_ONE_f32(WEIGHTS[i] * WEIGHTS[j]);
    }
    coefficients(x, count);
    UNROLLED for (int i = 0; i < count; i++) to[i * POINTS + j] = x[i];
  }
  UNROLLED for (int i = 0; i < count; i++) coefficients(to + i * POINTS, count);
}

/* --- tiles ------------------------------------------------------------------------------------- */

/* Bytes of a block of tiles, a part of the second cache, and the least tiles of one: filters are read anew for
   each block. Tests have smaller blocks. */
#ifndef BLOCK_BYTES
#define BLOCK_BYTES (1 << 19)
#define LEAST_TILES 48
#endif
/* The bytes of a block that all threads read: of a cache that they share. */
#ifndef SHARED_BYTES
#define SHARED_BYTES (1 << 22)
#endif
enum { MOST_TILES = 192, GAP = CACHE_LINE / sizeof(f32), MOST_SHARES = 64, FEW_BLOCKS = 8, SHARES_OF_BLOCK = 16 };

typedef struct {
  const Convolution *does;
  const Tiles *tiles;
  i64 taps, side, rows, columns, count; /* tiles of an image, and of all */
  i64 blocks, at_once;                  /* blocks of tiles, and the most that one has */
  i64 panels;                           /* of the filters */
} Tiling;

/* In at least so many blocks, if they are not too small then. */
static Tiling tiling_of(const Convolution *does, i64 block_bytes, i64 blocks) {
  Tiling made = {.does = does, .tiles = best_tiles(), .taps = does->window.taps[0]};
  made.side = POINTS + 1 - made.taps;
  made.rows = parts_of(does->counts[0], made.side);
  made.columns = parts_of(does->counts[1], made.side);
  made.count = does->batch * made.rows * made.columns;
  const i64 bytes = PLANES * (does->channels + does->filters) * (i64)sizeof(f32);
  i64 most = smaller(MOST_TILES, larger(LEAST_TILES, block_bytes / bytes));
  most = smaller(most, larger(LEAST_TILES / 2, parts_of(made.count, blocks)));
  made.at_once = parts_of(most, made.tiles->rows) * made.tiles->rows;
  made.at_once = smaller(made.at_once, larger(1, made.count));
  made.blocks = parts_of(made.count, made.at_once);
  made.panels = parts_of(does->filters, made.tiles->columns);
  return made;
}

/* The first tile of a block. */
static i64 block_at(const Tiling *tiling, i64 block) {
  return smaller(block * tiling->at_once, tiling->count);
}

/* Numbers from what all tiles of a block have at a point to what they have at the next. Planes do not lie
   whole pages apart: the processor's cache has only a few places for such. */
static i64 plane_of(const Tiling *tiling, i64 of_each) {
  return tiling->at_once * of_each + GAP;
}

typedef struct {
  i64 image, row, column;
} TilePlace;

static TilePlace place_of_tile(const Tiling *tiling, i64 tile) {
  const i64 per_image = tiling->rows * tiling->columns, at = tile % per_image;
  return (TilePlace){tile / per_image, at / tiling->columns * tiling->side,
                     at % tiling->columns * tiling->side};
}

/* Where the numbers of a square stand in an image, ``zeros`` for those outside of it. */
static void look_at(const f32 *image, const i64 sizes[2], i64 channels, i64 top, i64 left,
                    int side, const f32 *zeros, const f32 **to) {
  for (int i = 0; i < side; i++)
    for (int j = 0; j < side; j++) {
      const i64 row = top + i, column = left + j;
      const int inside = row >= 0 && row < sizes[0] && column >= 0 && column < sizes[1];
      to[i * POINTS + j] = inside ? image + (row * sizes[1] + column) * channels : zeros;
    }
}

/* What tiles see of images, at each point, a tile behind the other. */
static void read_images(const Tiling *tiling, const f32 *x, i64 first, i64 last,
                        const f32 *zeros, f32 *to, i64 plane) {
  const Convolution *does = tiling->does;
  const i64 channels = does->channels, *before = does->window.before;
  for (i64 tile = first; tile < last; tile++, to += channels) {
    const TilePlace at = place_of_tile(tiling, tile);
    const f32 *from[PLANES];
    look_at(x + at.image * does->sizes[0] * does->sizes[1] * channels, does->sizes, channels,
            at.row - before[0], at.column - before[1], POINTS, zeros, from);
    for (i64 c = 0; c < channels; c += VECTOR_LENGTH)
      to_points(from, c, POINTS, 1, 0, to + c, plane);
  }
}

/* --- convolutions ------------------------------------------------------------------------------ */

typedef struct {
  Tiling tiling;
  const f32 *x, *w, *bias, *added;
  f32 *panels, *y; /* at each point panels of the filter, see ``packed_tile`` */
  int turned, positive;
  i64 shares;
  atomic_int failed, not_finite;
} TiledConvolution;

static i64 panel_numbers(const Tiling *tiling) {
  return (1 + tiling->does->channels) * tiling->tiles->columns;
}

INLINED void pack_filters(const TiledConvolution *is, i64 c, int taps) {
  const Tiling *tiling = &is->tiling;
  const i64 channels = tiling->does->channels, filters = tiling->does->filters;
  const i64 panel = panel_numbers(tiling), width = tiling->tiles->columns;
  const i64 plane = tiling->panels * panel, numbers = channels * filters;
  for (i64 f = 0; f < filters; f += VECTOR_LENGTH) {
    f32 *to = is->panels + f / width * panel + (1 + c) * width + f % width;
    /* A filter that is turned around has its channels last. */
    f32 lines[VECTOR_LENGTH][PLANES * VECTOR_LENGTH];
    for (int row = 0; row < VECTOR_LENGTH; row++) {
      const f32 *from[PLANES];
      for (int i = 0; i < taps; i++)
        for (int j = 0; j < taps; j++) {
          const int tap = i * taps + j;
          from[i * POINTS + j] =
              is->turned ? is->w + (taps * taps - 1 - tap) * numbers + (f + row) * channels + c
                         : is->w + tap * numbers + (c + row) * filters + f;
        }
      to_points(from, 0, taps, 0, 1, is->turned ? lines[row] : to + row * width,
                is->turned ? VECTOR_LENGTH : plane);
    }
    for (int i = 0; is->turned && i < PLANES; i++)
      for (int row = 0; row < VECTOR_LENGTH; row++)
        for (int lane = 0; lane < VECTOR_LENGTH; lane++)
          to[i * plane + row * width + lane] = lines[lane][i * VECTOR_LENGTH + row];
  }
}

static void pack_part(void *data, size_t index) {
  const TiledConvolution *is = data;
  if (is->tiling.taps == 3)
    pack_filters(is, (i64)index * VECTOR_LENGTH, 3);
  else
    pack_filters(is, (i64)index * VECTOR_LENGTH, 5);
}

/* Results of the tiles of a block from their products at the points. */
INLINED int write_results(const TiledConvolution *is, i64 first, i64 last, const f32 *from,
                          i64 plane, int side) {
  const Tiling *tiling = &is->tiling;
  const Convolution *does = tiling->does;
  const i64 filters = does->filters;
  Mask not_finite = {0};
  for (i64 tile = first; tile < last; tile++, from += filters) {
    const TilePlace at = place_of_tile(tiling, tile);
    const i64 rows = smaller(side, does->counts[0] - at.row);
    const i64 columns = smaller(side, does->counts[1] - at.column);
    f32 *y =
        is->y + ((at.image * does->counts[0] + at.row) * does->counts[1] + at.column) * filters;
    for (i64 f = 0; f < filters; f += VECTOR_LENGTH) {
      Vector square[PLANES], bias = {0};
      if (is->bias) bias = *(const Loose *)(is->bias + f);
      from_points(from + f, plane, side, 0, square);
      UNROLLED for (int i = 0; i < side; i++) UNROLLED for (int j = 0; j < side; j++) {
        if (i >= rows || j >= columns) continue;
        Vector made = square[i * POINTS + j] + bias;
        f32 *to = y + (i * does->counts[1] + j) * filters + f;
        not_finite |= (Mask)(made - made != 0);
        if (is->added) made = made + *(const Loose *)(is->added + (to - is->y));
        if (is->positive) made = (Vector)((Mask)made & ~(Mask)(made < 0));
        *(Loose *)to = made;
      }
    }
  }
  return any_of(not_finite);
}

/* The products of some tiles at a point. */
static void multiply_point(const TiledConvolution *is, i64 point, i64 count, const f32 *seen,
                           f32 *to) {
  const Tiling *tiling = &is->tiling;
  const Tiles *tiles = tiling->tiles;
  const i64 channels = tiling->does->channels, filters = tiling->does->filters, begin = 0;
  const f32 *panel = is->panels + point * tiling->panels * panel_numbers(tiling);
  for (i64 column = 0; column < filters; column += tiles->columns) {
    const int columns = (int)smaller(tiles->columns, filters - column);
    for (i64 tile = 0, rows; tile < count; tile += rows) {
      rows = rows_at_once(tiles, count - tile);
      const f32 *from[MAX_ROWS];
      f32 *sums[MAX_ROWS];
      for (i64 i = 0; i < rows; i++) {
        from[i] = seen + (tile + i) * channels;
        sums[i] = to + (tile + i) * filters + column;
      }
      packed_tile(tiles, rows, from, &begin, 1, channels, panel, sums, columns, 0);
    }
    panel += panel_numbers(tiling);
  }
}

static void write_tiles(TiledConvolution *is, i64 first, i64 last, const f32 *from, i64 plane) {
  const int not_finite = is->tiling.side == 4 ? write_results(is, first, last, from, plane, 4)
                                              : write_results(is, first, last, from, plane, 2);
  if (not_finite) is->not_finite = 1;
}

static void convolve_share(void *data, size_t index) {
  TiledConvolution *is = data;
  const Tiling *tiling = &is->tiling;
  const i64 channels = tiling->does->channels, share = (i64)index;
  const i64 seen_plane = plane_of(tiling, channels);
  const i64 plane = plane_of(tiling, tiling->does->filters);
  f32 *seen = numbers_in_lines((size_t)(PLANES * (seen_plane + plane) + channels));
  if (!seen) {
    is->failed = 1;
    return;
  }
  f32 *made = seen + PLANES * seen_plane, *zeros = made + PLANES * plane;
  memset(zeros, 0, (size_t)channels * sizeof(f32));
  for (i64 block = tiling->blocks * share / is->shares;
       block < tiling->blocks * (share + 1) / is->shares; block++) {
    const i64 first = block_at(tiling, block), last = block_at(tiling, block + 1);
    read_images(tiling, is->x, first, last, zeros, seen, seen_plane);
    for (i64 point = 0; point < PLANES; point++)
      multiply_point(is, point, last - first, seen + point * seen_plane, made + point * plane);
    write_tiles(is, first, last, made, plane);
  }
  free_lines(seen);
}

/* Fewer numbers of tiles than of filters are one block, of which threads take points: so each reads a part of
   the filters alone. */
static int is_shared(const Tiling *tiling) {
  const i64 channels = tiling->does->channels, filters = tiling->does->filters;
  const i64 numbers = (channels + filters) * tiling->count;
  return numbers < channels * filters && PLANES * numbers <= SHARED_BYTES / (i64)sizeof(f32);
}

typedef struct {
  TiledConvolution *of;
  f32 *seen, *made, *zeros;
  i64 shares;
} SharedBlock;

static void read_tiles_of_share(void *data, size_t index) {
  const SharedBlock *does = data;
  const Tiling *tiling = &does->of->tiling;
  const i64 channels = tiling->does->channels;
  const i64 first = tiling->count * (i64)index / does->shares;
  read_images(tiling, does->of->x, first, tiling->count * ((i64)index + 1) / does->shares,
              does->zeros, does->seen + first * channels, plane_of(tiling, channels));
}

static void multiply_shared_point(void *data, size_t index) {
  const SharedBlock *does = data;
  const Tiling *tiling = &does->of->tiling;
  multiply_point(does->of, (i64)index, tiling->count,
                 does->seen + (i64)index * plane_of(tiling, tiling->does->channels),
                 does->made + (i64)index * plane_of(tiling, tiling->does->filters));
}

static void write_tiles_of_share(void *data, size_t index) {
  const SharedBlock *does = data;
  const Tiling *tiling = &does->of->tiling;
  const i64 filters = tiling->does->filters, first = tiling->count * (i64)index / does->shares;
  write_tiles(does->of, first, tiling->count * ((i64)index + 1) / does->shares,
              does->made + first * filters, plane_of(tiling, filters));
}

static int convolve_shared_block(TiledConvolution *is, const Host *host) {
  Tiling *tiling = &is->tiling;
  const i64 channels = tiling->does->channels;
  tiling->at_once = tiling->count, tiling->blocks = 1;
  const i64 seen = PLANES * plane_of(tiling, channels);
  const i64 made = PLANES * plane_of(tiling, tiling->does->filters);
  SharedBlock does = {.of = is, .shares = smaller(tiling->count, SHARES_OF_BLOCK)};
  does.seen = numbers_in_lines((size_t)(seen + made + channels));
  if (!does.seen) return -1;
  does.made = does.seen + seen, does.zeros = does.made + made;
  memset(does.zeros, 0, (size_t)channels * sizeof(f32));
  int failed =
      host->in_parallel(host->context, read_tiles_of_share, (size_t)does.shares, &does);
  if (!failed) failed = host->in_parallel(host->context, multiply_shared_point, PLANES, &does);
  if (!failed)
    failed =
        host->in_parallel(host->context, write_tiles_of_share, (size_t)does.shares, &does);
  free_lines(does.seen);
  return failed;
}

/* The filter is at the points. */
static int run_tiling(TiledConvolution *is, const Host *host) {
  is->shares = smaller(is->tiling.blocks, MOST_SHARES);
  const int failed =
      is_shared(&is->tiling)
          ? convolve_shared_block(is, host)
          : host->in_parallel(host->context, convolve_share, (size_t)is->shares, is);
  return failed ? failed : is->failed ? -1 : is->not_finite ? NOT_FINITE : 0;
}

static int convolve_tiles(TiledConvolution *is, const Host *host) {
  Tiling *tiling = &is->tiling;
  const i64 planes = PLANES * tiling->panels, numbers = panel_numbers(tiling);
  is->panels = numbers_in_lines((size_t)(planes * numbers));
  if (!is->panels) return -1;
  /* Columns behind the last one are zeros, as is what sums begin with. */
  const int whole = tiling->does->filters % tiling->tiles->columns == 0;
  for (i64 i = 0; i < planes; i++)
    memset(is->panels + i * numbers, 0,
           (size_t)(whole ? tiling->tiles->columns : numbers) * sizeof(f32));
  const i64 groups = tiling->does->channels / VECTOR_LENGTH;
  int failed = host->in_parallel(host->context, pack_part, (size_t)groups, is);
  if (!failed) failed = run_tiling(is, host);
  free_lines(is->panels);
  return failed;
}

int winograd_convolve(const Convolution *does, const f32 *x, const f32 *w, const f32 *bias,
                      int positive, f32 *y, const Host *host) {
  TiledConvolution is = {.x = x, .w = w, .bias = bias, .y = y, .positive = positive};
  is.tiling = tiling_of(does, BLOCK_BYTES, FEW_BLOCKS);
  return convolve_tiles(&is, host);
}

int winograd_at_points(const Convolution *does, const f32 *x, const FilterAtPoints *filter,
                       f32 *y, const Host *host) {
  TiledConvolution is = {.x = x, .bias = filter->bias, .added = filter->added, .y = y};
  is.panels = (f32 *)filter->panels; /* which are only read */
  is.positive = filter->positive;
  is.tiling = tiling_of(does, BLOCK_BYTES, FEW_BLOCKS);
  return run_tiling(&is, host);
}

/* The coefficients of a polynomial whose weighted values at the points are known, ``step`` numbers from one
   another. */
static void coefficients_of_values(const f64 *values, i64 step, i64 taps, f64 *to) {
  f64 x[POINTS];
  for (i64 i = 0; i < POINTS; i++) x[i] = values[i * step] / (f64)WEIGHTS[i];
  const f64 near = (f64)NEAR, far = (f64)FAR, odd = (x[1] - x[2]) / (2 * near);
  to[0] = x[0], to[step] = odd, to[(taps - 1) * step] = x[5];
  if (taps == 3) return;
  const f64 cubic = ((x[3] - x[4]) / (2 * far) - odd) / (far * far - near * near);
  to[step] = odd - near * near * cubic, to[3 * step] = cubic;
  to[2 * step] = ((x[1] + x[2]) / 2 - x[0]) / (near * near) - near * near * x[5];
}

void winograd_filter(const Convolution *does, const f32 *panels, f32 *w) {
  const Tiling tiling = tiling_of(does, BLOCK_BYTES, FEW_BLOCKS);
  const i64 taps = tiling.taps, width = tiling.tiles->columns, panel = panel_numbers(&tiling);
  for (i64 c = 0; c < does->channels; c++)
    for (i64 f = 0; f < does->filters; f++) {
      f64 square[PLANES];
      const f32 *from = panels + f / width * panel + (1 + c) * width + f % width;
      for (i64 i = 0; i < PLANES; i++) square[i] = (f64)from[i * tiling.panels * panel];
      for (i64 i = 0; i < POINTS; i++)
        coefficients_of_values(square + i * POINTS, 1, taps, square + i * POINTS);
      for (i64 j = 0; j < taps; j++)
        coefficients_of_values(square + j, POINTS, taps, square + j);
      for (i64 i = 0; i < taps; i++)
        for (i64 j = 0; j < taps; j++)
          w[((i * taps + j) * does->channels + c) * does->filters + f] =
              (f32)square[i * POINTS + j];
    }
}

int winograd_input_gradient(const Convolution *turned, const f32 *dy, const f32 *w, f32 *dx,
                            const Host *host) {
  TiledConvolution is = {.x = dy, .w = w, .y = dx, .turned = 1};
  is.tiling = tiling_of(turned, BLOCK_BYTES, FEW_BLOCKS);
  return convolve_tiles(&is, host);
}

/* --- gradients of filters ---------------------------------------------------------------------- */

typedef struct {
  Tiling tiling;
  const f32 *x, *dy;
  f32 *seen, *gradients, *zeros; /* at each point, of the tiles of a block */
  f32 *sums;                     /* at each point a matrix of channels and filters */
  f32 *dw;
  i64 first, last; /* the block's tiles */
  i64 shares;      /* that it is read in */
  atomic_int not_finite;
} TiledSums;

static i64 gradient_plane(const Tiling *tiling) {
  return plane_of(tiling, tiling->panels * tiling->tiles->columns);
}

/* The gradients of tiles at each point, in panels: first all tiles of the first columns. */
INLINED void read_gradients(const TiledSums *is, i64 first, i64 last, int side) {
  const Tiling *tiling = &is->tiling;
  const Convolution *does = tiling->does;
  const i64 filters = does->filters, width = tiling->tiles->columns;
  const i64 plane = gradient_plane(tiling);
  for (i64 tile = first; tile < last; tile++) {
    const TilePlace at = place_of_tile(tiling, tile);
    const f32 *from[PLANES];
    look_at(is->dy + at.image * does->counts[0] * does->counts[1] * filters, does->counts,
            filters, at.row, at.column, side, is->zeros, from);
    for (i64 f = 0; f < filters; f += VECTOR_LENGTH) {
      f32 *to =
          is->gradients + (f / width * tiling->at_once + tile - is->first) * width + f % width;
      to_points(from, f, side, 0, 0, to, plane);
    }
  }
}

static void read_share(void *data, size_t index) {
  const TiledSums *is = data;
  const i64 count = is->last - is->first, share = (i64)index;
  const i64 first = is->first + count * share / is->shares;
  const i64 last = is->first + count * (share + 1) / is->shares;
  const i64 channels = is->tiling.does->channels;
  read_images(&is->tiling, is->x, first, last, is->zeros,
              is->seen + (first - is->first) * channels, plane_of(&is->tiling, channels));
  if (is->tiling.side == 4)
    read_gradients(is, first, last, 4);
  else
    read_gradients(is, first, last, 2);
}

/* Add the products of a block at one point, for the filters of a panel. */
static void sum_products(void *data, size_t index) {
  const TiledSums *is = data;
  const Tiling *tiling = &is->tiling;
  const Tiles *tiles = tiling->tiles;
  const i64 channels = tiling->does->channels, filters = tiling->does->filters, begin = 0;
  const i64 point = (i64)index / tiling->panels, panel = (i64)index % tiling->panels;
  const i64 column = panel * tiles->columns;
  const int columns = (int)smaller(tiles->columns, filters - column);
  const f32 *seen = is->seen + point * plane_of(tiling, channels);
  const f32 *by = is->gradients + point * gradient_plane(tiling) + column * tiling->at_once;
  f32 *to = is->sums + point * channels * filters + column;
  for (i64 c = 0, rows; c < channels; c += rows) {
    rows = rows_at_once(tiles, channels - c);
    const f32 *from[MAX_ROWS];
    f32 *sums[MAX_ROWS];
    for (i64 i = 0; i < rows; i++) from[i] = seen + c + i, sums[i] = to + (c + i) * filters;
    tiles->tile[rows](from, &begin, 1, is->last - is->first, channels, NULL, by, tiles->columns,
                      sums, columns, 0);
  }
}

INLINED int write_filters(const TiledSums *is, i64 c, int taps) {
  const i64 channels = is->tiling.does->channels, filters = is->tiling.does->filters;
  const i64 numbers = channels * filters;
  Mask not_finite = {0};
  for (i64 at = c * filters; at < (c + VECTOR_LENGTH) * filters; at += VECTOR_LENGTH) {
    Vector square[PLANES];
    from_points(is->sums + at, numbers, taps, 1, square);
    UNROLLED for (int i = 0; i < taps; i++) UNROLLED for (int j = 0; j < taps; j++) {
      const Vector made = square[i * POINTS + j];
      not_finite |= (Mask)(made - made != 0);
      *(Loose *)(is->dw + (i * taps + j) * numbers + at) = made;
    }
  }
  return any_of(not_finite);
}

static void write_part(void *data, size_t index) {
  TiledSums *is = data;
  const i64 c = (i64)index * VECTOR_LENGTH;
  if (is->tiling.taps == 3 ? write_filters(is, c, 3) : write_filters(is, c, 5))
    is->not_finite = 1;
}

int winograd_filter_gradient(const Convolution *does, const f32 *x, const f32 *dy, f32 *dw,
                             const Host *host) {
  TiledSums is = {.x = x, .dy = dy, .dw = dw};
  is.tiling = tiling_of(does, SHARED_BYTES, 1);
  const Tiling *tiling = &is.tiling;
  const i64 sums = PLANES * does->channels * does->filters;
  const i64 seen = PLANES * plane_of(tiling, does->channels);
  const i64 gradients = PLANES * gradient_plane(tiling);
  const i64 zeros = larger(does->channels, does->filters);
  is.sums = numbers_in_lines((size_t)(sums + seen + gradients + zeros));
  if (!is.sums) return -1;
  is.seen = is.sums + sums;
  is.gradients = is.seen + seen;
  is.zeros = is.gradients + gradients;
  memset(is.sums, 0, (size_t)sums * sizeof(f32));
  /* Columns behind the last one are zeros, too. */
  memset(is.gradients, 0, (size_t)(gradients + zeros) * sizeof(f32));
  int failed = 0;
  for (i64 block = 0; !failed && block < tiling->blocks; block++) {
    is.first = block_at(tiling, block), is.last = block_at(tiling, block + 1);
    is.shares = smaller(is.last - is.first, MOST_SHARES);
    failed = host->in_parallel(host->context, read_share, (size_t)is.shares, &is);
    if (!failed)
      failed = host->in_parallel(host->context, sum_products, (size_t)(PLANES * tiling->panels),
                                 &is);
  }
  if (!failed)
    failed = host->in_parallel(host->context, write_part,
                               (size_t)(does->channels / VECTOR_LENGTH), &is);
  free_lines(is.sums);
  return failed ? failed : is.not_finite ? NOT_FINITE : 0;
}

/* --- when it pays ------------------------------------------------------------------------------ */

/* Measured in products: what a number at a point costs beside them, in what is seen and in results, and in
   filters, which are read and written once for all tiles. */
#ifndef EACH_NUMBER /* tests have less */
#define EACH_NUMBER 20
#define EACH_WEIGHT 60
#define LEAST_CHANNELS 16
#endif
/* The values of more take more memory than what else a network needs for them. */
enum { MOST_CHANNELS = 1 << 10, MOST_WEIGHTS = 1 << 17 };

int fits_points(const Convolution *does) {
  const Window *window = &does->window;
  const i64 taps = window->taps[0];
  for (int axis = 0; axis < 2; axis++)
    if (window->taps[axis] != taps || window->strides[axis] != 1 ||
        window->dilations[axis] != 1)
      return 0;
  return (taps == 3 || taps == 5) && does->channels % VECTOR_LENGTH == 0 &&
         does->filters % VECTOR_LENGTH == 0;
}

int winograd_pays(const Convolution *does) {
  const i64 taps = does->window.taps[0], c = does->channels, f = does->filters;
  if (!fits_points(does)) return 0;
  if (smaller(c, f) < LEAST_CHANNELS || larger(c, f) > MOST_CHANNELS || c * f > MOST_WEIGHTS)
    return 0;
  const Tiling tiling = tiling_of(does, BLOCK_BYTES, FEW_BLOCKS);
  const f64 places = (f64)does->batch * (f64)does->counts[0] * (f64)does->counts[1];
  const f64 products = (f64)(c * f), tiles = (f64)tiling.count;
  const f64 here = PLANES * (tiles * (1.25 * products + EACH_NUMBER * (f64)(c + f)) +
                             EACH_WEIGHT * products);
  return here < places * (f64)(taps * taps) * products;
}
