#include "windows.h"
#include "memory.h"
#include "numbers.h"
#include "tiles.h"
#include "winograd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- images in pieces -------------------------------------------------------------------------- */

/* The limit of what is counted: no machine has as many bytes, and numbers of 64 bits hold the product of
   such a count with all that it is multiplied with here. */
#define LIMIT 0x1p47

/* The bytes of numbers of 8 bytes along some axes. In float64 no product of counts overflows. */
static f64 bytes_along(f64 a, f64 b, f64 c, f64 d) {
  const f64 sizes[] = {a, b, c, d};
  f64 bytes = 8;
  for (int axis = 0; axis < 4; axis++) bytes *= sizes[axis] < 1 ? 1 : sizes[axis];
  return bytes;
}

int is_possible(const Convolution *does, int is_depthwise, int of_input) {
  const f64 block = 64; /* more than the columns of a panel, and than the parts of a sum */
  const Window *window = &does->window;
  const f64 batch = (f64)does->batch, c = (f64)does->channels, f = (f64)does->filters;
  f64 sizes[2], counts[2], taps[2], strides[2], seen[2], around[2];
  for (int axis = 0; axis < 2; axis++) {
    sizes[axis] = (f64)does->sizes[axis], counts[axis] = (f64)does->counts[axis];
    taps[axis] = (f64)window->taps[axis], strides[axis] = (f64)window->strides[axis];
    const f64 reach = (taps[axis] - 1) * (f64)window->dilations[axis] + 1;
    seen[axis] = (counts[axis] < 1 ? 0 : counts[axis] - 1) * strides[axis] + reach;
    around[axis] = sizes[axis] + 2 * reach; /* the places that an image's gradient is made of */
  }
  const f64 filter = is_depthwise ? bytes_along(taps[0], taps[1], c, block)
                                  : bytes_along(taps[0], taps[1], c + block, f + block);
  return bytes_along(batch, sizes[0], sizes[1], c) < LIMIT &&
         bytes_along(batch, counts[0], counts[1], f) < LIMIT && filter < LIMIT &&
         bytes_along(seen[1], c, strides[0], 1) < LIMIT &&
         bytes_along(seen[0], seen[1], c, 1) < LIMIT &&
         (!of_input || bytes_along(around[0], around[1], f, 1) < LIMIT);
}

/* Rows of places that are computed at a time, and the part of the image that they see. */
typedef struct {
  const Convolution *does;
  i64 rows;          /* of places */
  i64 height, width; /* of what they see */
  int is_inside;     /* no window reaches over the border: nothing has to be copied */
  i64 line;          /* from a row of the image to the next, in numbers */
} Pieces;

/* Bytes of an image that are looked at at once: a part of the second cache. Tests have smaller pieces. */
#ifndef PIECE_BYTES
#define PIECE_BYTES (1 << 17)
#define PANEL_BYTES (1 << 17)
#define LEAST_PLACES 96
#define LEAST_PIECES 8
#endif

static Pieces cut(const Convolution *does) {
  const Window *window = &does->window;
  i64 reach[2], inside = 1;
  for (int axis = 0; axis < 2; axis++) {
    reach[axis] = (window->taps[axis] - 1) * window->dilations[axis] + 1;
    i64 last = (does->counts[axis] - 1) * window->strides[axis] + reach[axis];
    inside &= window->before[axis] <= 0 && last - window->before[axis] <= does->sizes[axis];
  }
  Pieces pieces = {.does = does, .is_inside = (int)inside};
  pieces.width = (does->counts[1] - 1) * window->strides[1] + reach[1];
  i64 row_bytes = pieces.width * does->channels * (i64)sizeof(f32) * window->strides[0];
  pieces.rows = larger(1, PIECE_BYTES / larger(1, row_bytes));
  pieces.rows = larger(pieces.rows, parts_of(LEAST_PLACES, does->counts[1]));
  pieces.rows = smaller(pieces.rows, does->counts[0]);
  /* Pieces of about the same size. */
  pieces.rows = parts_of(does->counts[0], parts_of(does->counts[0], pieces.rows));
  pieces.height = (pieces.rows - 1) * window->strides[0] + reach[0];
  pieces.line = (inside ? does->sizes[1] : pieces.width) * does->channels;
  return pieces;
}

static size_t piece_numbers(const Pieces *pieces) {
  return pieces->is_inside ? 0 : (size_t)(pieces->height * pieces->line);
}

/* What the places from ``row`` on see of an image: where it stands, or a copy with zeros around it. */
static const f32 *piece_at(const Pieces *pieces, const f32 *image, i64 row, f32 *copy) {
  const Convolution *does = pieces->does;
  const Window *window = &does->window;
  i64 top = row * window->strides[0] - window->before[0], left = -window->before[1];
  i64 channels = does->channels;
  if (pieces->is_inside) return image + (top * does->sizes[1] + left) * channels;
  i64 from = larger(left, 0), to = smaller(left + pieces->width, does->sizes[1]);
  for (i64 y = 0; y < pieces->height; y++) {
    f32 *line = copy + y * pieces->line;
    if (top + y < 0 || top + y >= does->sizes[0] || to <= from) {
      memset(line, 0, (size_t)pieces->line * sizeof(f32));
      continue;
    }
    i64 zeros = (from - left) * channels, seen = (to - from) * channels;
    memset(line, 0, (size_t)zeros * sizeof(f32));
    memcpy(line + zeros, image + ((top + y) * does->sizes[1] + from) * channels,
           (size_t)seen * sizeof(f32));
    memset(line + zeros + seen, 0, (size_t)(pieces->line - zeros - seen) * sizeof(f32));
  }
  return copy;
}

static i64 image_numbers(const Convolution *does) {
  return does->sizes[0] * does->sizes[1] * does->channels;
}

static i64 place_numbers(const Convolution *does) {
  return does->counts[0] * does->counts[1] * does->filters;
}

/* --- convolutions ------------------------------------------------------------------------------ */

enum { MOST_PARTS = 64, FEW_PARTS = 8 };

/* A filter as a matrix of ``inner`` rows, in panels of so many columns as stay in registers: all rows
   of the first columns, then all of the next, with zeros behind the last column. In front of the rows is
   what sums begin with: the bias, or zeros. */
typedef struct {
  const f32 *w, *bias;
  f32 *to;
  i64 inner, columns, width;
  i64 taps, channels, filters; /* of the filter whose input gradient it is for, else 0 */
  const i64 *places;           /* of its taps, in the order in which they are seen */
} Packing;

static void pack_panel(void *data, size_t index) {
  const Packing *does = data;
  i64 first = (i64)index * does->width;
  i64 width = smaller(does->width, does->columns - first);
  f32 *to = does->to + (i64)index * (1 + does->inner) * does->width;
  memset(to, 0,
         (size_t)(does->width * (width < does->width ? 1 + does->inner : 1)) * sizeof(f32));
  if (does->bias) memcpy(to, does->bias + first, (size_t)width * sizeof(f32));
  to += does->width;
  if (!does->taps) {
    for (i64 k = 0; k < does->inner; k++)
      memcpy(to + k * does->width, does->w + k * does->columns + first,
             (size_t)width * sizeof(f32));
    return;
  }
  enum { BLOCK = 16 };
  for (i64 tap = 0; tap < does->taps; tap++) {
    const f32 *from = does->w + (does->places[tap] * does->channels + first) * does->filters;
    for (i64 o = 0; o < does->filters; o += BLOCK) {
      i64 end = smaller(o + BLOCK, does->filters);
      for (i64 c = 0; c < width; c++)
        for (i64 i = o; i < end; i++) to[i * does->width + c] = from[c * does->filters + i];
    }
    to += does->filters * does->width;
  }
}

/* A convolution of a packed filter, whose places are written with steps between them. */
typedef struct {
  const Tiles *tiles;
  Pieces pieces;
  const f32 *x, *panels;
  f32 *y;
  int positive;                 /* 0 in place of what is below */
  i64 y_image, y_row, y_column; /* from one place to the next, in numbers */
  i64 inner;
  i64 run_count, run_length;
  i64 *runs;
  i64 per_image, groups, panel_count, items, parts;
  atomic_int failed;
} Convolving;

static void convolve_piece(const Convolving *does, i64 item, f32 *copy) {
  const Convolution *is = does->pieces.does;
  const Tiles *tiles = does->tiles;
  const Window *window = &is->window;
  i64 group = item % does->groups, piece = item / does->groups;
  i64 image = piece / does->per_image, row = piece % does->per_image * does->pieces.rows;
  i64 rows = smaller(does->pieces.rows, is->counts[0] - row);
  const f32 *seen = piece_at(&does->pieces, does->x + image * image_numbers(is), row, copy);
  f32 *y = does->y + image * does->y_image + row * does->y_row;
  i64 places = rows * is->counts[1], step = window->strides[1] * is->channels;
  i64 first = does->panel_count * group / does->groups;
  i64 last = does->panel_count * (group + 1) / does->groups;
  /* Some panels stay in the second cache for all places, and rows in the first one for these. */
  const i64 numbers = (1 + does->inner) * tiles->columns;
  const i64 some = larger(1, PANEL_BYTES / (numbers * (i64)sizeof(f32)));
  for (; first < last; first += some)
    for (i64 place = 0, count; place < places; place += count) {
      count = rows_at_once(tiles, places - place);
      const f32 *from[MAX_ROWS];
      f32 *rows_to[MAX_ROWS];
      for (int i = 0; i < count; i++) {
        const i64 r = (place + i) / is->counts[1], c = (place + i) % is->counts[1];
        from[i] = seen + r * window->strides[0] * does->pieces.line + c * step;
        rows_to[i] = y + r * does->y_row + c * does->y_column;
      }
      for (i64 panel = first; panel < smaller(last, first + some); panel++) {
        const f32 *by = does->panels + panel * numbers;
        const i64 column = panel * tiles->columns;
        const int columns = (int)smaller(tiles->columns, is->filters - column);
        f32 *to[MAX_ROWS];
        for (int i = 0; i < count; i++) to[i] = rows_to[i] + column;
        packed_tile(tiles, count, from, does->runs, does->run_count, does->run_length, by, to,
                    columns, does->positive);
      }
    }
}

static void convolve_part(void *data, size_t index) {
  Convolving *does = data;
  size_t numbers = piece_numbers(&does->pieces);
  f32 *copy = numbers_in_lines(numbers);
  if (!copy) {
    does->failed = 1;
    return;
  }
  i64 part = (i64)index;
  for (i64 item = does->items * part / does->parts;
       item < does->items * (part + 1) / does->parts; item++)
    convolve_piece(does, item, copy);
  free_lines(copy);
}

/* The filter is packed into ``panels``; y lies as ``steps`` say: from an image, a row and a column to the next. */
static int convolve_packed(const Convolution *is, const f32 *x, const f32 *panels, f32 *y,
                           const i64 steps[3], int positive, const Host *host) {
  const Window *window = &is->window;
  if (is->batch == 0 || is->counts[0] == 0 || is->counts[1] == 0) return 0;
  const Tiles *tiles = best_tiles();
  Convolving does = {.tiles = tiles, .pieces = cut(is), .x = x, .panels = panels, .y = y};
  does.positive = positive;
  does.y_image = steps[0], does.y_row = steps[1], does.y_column = steps[2];
  int joins = window->dilations[1] == 1; /* the taps of a row stand side by side */
  i64 columns = joins ? 1 : window->taps[1];
  does.inner = window->taps[0] * window->taps[1] * is->channels;
  does.run_count = is->channels ? window->taps[0] * columns : 0;
  does.run_length = is->channels * (joins ? window->taps[1] : 1);
  does.runs = malloc((size_t)(does.run_count + 1) * sizeof(i64));
  if (!does.runs) return -1;
  for (i64 i = 0; i < does.run_count; i++)
    does.runs[i] = i / columns * window->dilations[0] * does.pieces.line +
                   i % columns * window->dilations[1] * is->channels;
  does.panel_count = parts_of(is->filters, tiles->columns);
  does.per_image = parts_of(is->counts[0], does.pieces.rows);
  i64 pieces = is->batch * does.per_image;
  does.groups = smaller(does.panel_count, parts_of(FEW_PARTS, pieces));
  does.items = pieces * does.groups;
  does.parts = smaller(does.items, MOST_PARTS);
  int failed = host->in_parallel(host->context, convolve_part, (size_t)does.parts, &does);
  free(does.runs);
  return failed ? failed : does.failed ? -1 : 0;
}

static int pack(Packing *packing, const Host *host) {
  const i64 panels = parts_of(packing->columns, packing->width);
  size_t numbers = (size_t)((1 + packing->inner) * panels * packing->width);
  packing->to = numbers_in_lines(numbers);
  if (!packing->to) return -1;
  int failed = host->in_parallel(host->context, pack_panel, (size_t)panels, packing);
  if (failed) free_lines(packing->to);
  return failed;
}

/* Places of a convolution of one tap stand side by side where the window moves by one: one long row. */
static Convolution flattened(const Convolution *does) {
  const Window *window = &does->window;
  Convolution flat = *does;
  for (int axis = 0; axis < 2; axis++)
    if (window->taps[axis] != 1 || window->strides[axis] != 1 || window->before[axis] != 0 ||
        does->counts[axis] != does->sizes[axis])
      return flat;
  i64 whole = does->batch * does->sizes[0] * does->sizes[1], row = 64;
  while (whole % row) row--; /* rows enough to be shared among threads */
  flat.batch = 1;
  flat.sizes[0] = flat.counts[0] = whole / row;
  flat.sizes[1] = flat.counts[1] = row;
  return flat;
}

/* As sums of products. */
static int convolve_whole(const Convolution *does, const f32 *x, const f32 *w, const f32 *bias,
                          int positive, f32 *y, const Host *host) {
  const Convolution flat = flattened(does);
  Packing packing = {.w = w, .bias = bias, .columns = does->filters};
  packing.width = best_tiles()->columns;
  packing.inner = does->window.taps[0] * does->window.taps[1] * does->channels;
  int failed = pack(&packing, host);
  if (failed) return failed;
  const i64 steps[3] = {place_numbers(&flat), flat.counts[1] * does->filters, does->filters};
  failed = convolve_packed(&flat, x, packing.to, y, steps, positive, host);
  free_lines(packing.to);
  return failed;
}

int convolve(const Convolution *does, const f32 *x, const f32 *w, const f32 *bias, int positive,
             f32 *y, const Host *host) {
  if (does->batch == 0 || place_numbers(does) == 0) return 0;
  if (winograd_pays(does)) {
    int failed = winograd_convolve(does, x, w, bias, positive, y, host);
    if (failed != NOT_FINITE) return failed;
  }
  return convolve_whole(does, x, w, bias, positive, y, host);
}

int can_be_at_points(const Convolution *does) { return fits_points(does); }

int convolve_at_points(const Convolution *does, const f32 *x, const FilterAtPoints *filter,
                       f32 *y, const Host *host) {
  const i64 taps = does->window.taps[0], count = does->batch * place_numbers(does);
  if (!count) return 0;
  int failed = winograd_at_points(does, x, filter, y, host);
  if (failed != NOT_FINITE) return failed;
  f32 *w = numbers_in_lines((size_t)(taps * taps * does->channels * does->filters));
  if (!w) return -1;
  winograd_filter(does, filter->panels, w);
  const f32 *added = filter->added;
  failed = convolve_whole(does, x, w, filter->bias, !added && filter->positive, y, host);
  free_lines(w);
  for (i64 i = 0; i < count && added && !failed; i++) {
    y[i] += added[i];
    if (filter->positive && y[i] < 0) y[i] = 0;
  }
  return failed;
}

/* The taps that reach the numbers of an axis ``phase``, ``phase + stride``... The first of them, how
   many, and how far before the first place the window begins. */
typedef struct {
  i64 tap, taps, before, count;
} Phase;

static Phase phase_of(const Convolution *does, int axis, i64 phase) {
  const Window *window = &does->window;
  i64 stride = window->strides[axis], at = phase + window->before[axis];
  Phase found = {.tap = ((at % stride) + stride) % stride, .count = 0};
  if (stride == 1) { /* then they may be apart from one another */
    found.tap = 0;
    found.taps = window->taps[axis];
    found.before = (found.taps - 1) * window->dilations[axis] - at;
  } else {
    found.taps = found.tap < window->taps[axis]
                     ? (window->taps[axis] - found.tap + stride - 1) / stride
                     : 0;
    found.before = found.taps - 1 - (at - found.tap) / stride;
  }
  if (phase < does->sizes[axis])
    found.count = (does->sizes[axis] - phase + stride - 1) / stride;
  return found;
}

static int gradient_of_phase(const Convolution *does, const Phase phases[2], const f32 *dy,
                             const f32 *w, f32 *dx, const Host *host) {
  const Window *window = &does->window;
  i64 taps = phases[0].taps * phases[1].taps, *places = malloc((size_t)taps * sizeof *places);
  if (!places) return -1;
  for (i64 i = 0; i < taps; i++) { /* turned around */
    i64 tap[2] = {phases[0].taps - 1 - i / phases[1].taps,
                  phases[1].taps - 1 - i % phases[1].taps};
    places[i] = (phases[0].tap + tap[0] * window->strides[0]) * window->taps[1] +
                phases[1].tap + tap[1] * window->strides[1];
  }
  Convolution turned = {
      .batch = does->batch, .channels = does->filters, .filters = does->channels};
  for (int axis = 0; axis < 2; axis++) {
    turned.sizes[axis] = does->counts[axis];
    turned.counts[axis] = phases[axis].count;
    turned.window.taps[axis] = phases[axis].taps;
    turned.window.strides[axis] = 1;
    turned.window.dilations[axis] = window->strides[axis] == 1 ? window->dilations[axis] : 1;
    turned.window.before[axis] = phases[axis].before;
  }
  if (window->strides[0] == 1 && window->strides[1] == 1 && winograd_pays(&turned)) {
    int failed = winograd_input_gradient(&turned, dy, w, dx, host);
    if (failed != NOT_FINITE) {
      free(places);
      return failed;
    }
  }
  Packing packing = {.w = w,
                     .inner = taps * does->filters,
                     .columns = does->channels,
                     .width = best_tiles()->columns,
                     .taps = taps,
                     .channels = does->channels,
                     .filters = does->filters,
                     .places = places};
  int failed = pack(&packing, host);
  free(places);
  if (failed) return failed;
  Convolution flat = turned;
  i64 steps[3] = {image_numbers(does), window->strides[0] * does->sizes[1] * does->channels,
                  window->strides[1] * does->channels};
  if (window->strides[0] == 1 && window->strides[1] == 1) {
    flat = flattened(&turned);
    steps[0] = place_numbers(&flat);
    steps[1] = flat.counts[1] * flat.filters;
  }
  failed = convolve_packed(&flat, dy, packing.to, dx, steps, 0, host);
  free_lines(packing.to);
  return failed;
}

int input_gradient(const Convolution *does, const f32 *dy, const f32 *w, f32 *dx,
                   const Host *host) {
  const i64 *strides = does->window.strides;
  i64 numbers = does->batch * image_numbers(does);
  if (numbers == 0) return 0;
  if (place_numbers(does) == 0) {
    memset(dx, 0, (size_t)numbers * sizeof(f32));
    return 0;
  }
  for (int axis = 0; axis < 2; axis++)
    if (does->window.taps[axis] < strides[axis]) { /* what no window reaches */
      memset(dx, 0, (size_t)numbers * sizeof(f32));
      break;
    }
  /* There is no more than the image where it is smaller than the stride. */
  const i64 rows = smaller(strides[0], does->sizes[0]);
  const i64 columns = smaller(strides[1], does->sizes[1]);
  for (i64 i = 0; i < rows * columns; i++) {
    i64 first[2] = {i / columns, i % columns};
    Phase phases[2];
    for (int axis = 0; axis < 2; axis++) phases[axis] = phase_of(does, axis, first[axis]);
    if (!phases[0].taps || !phases[1].taps || !phases[0].count || !phases[1].count) continue;
    f32 *to = dx + (first[0] * does->sizes[1] + first[1]) * does->channels;
    int failed = gradient_of_phase(does, phases, dy, w, to, host);
    if (failed) return failed;
  }
  return 0;
}

/* --- gradients of filters ---------------------------------------------------------------------- */

/* Either a part sums up some rows of the result over all images, or all of the result over some images:
   where the result is small, images are read once that way. */
typedef struct {
  const Tiles *tiles;
  Pieces pieces;
  const f32 *x, *dy;
  f32 *dw;
  f32 *
      sums; /* a result of each part, one behind the other; NULL if the parts are of one result */
  i64 inner, per_image, groups, parts;
  const i64 *offsets;          /* of what each row of the result is multiplied with */
  i64 lines[2 * IN_A_ROW + 1]; /* where rows of the image begin that windows see */
  atomic_int failed;
} Summing;

/* A part of the result: rows and panels, each from the first to before the last. */
typedef struct {
  i64 rows[2], panels[2];
  f32 *to; /* the whole result */
} Share;

/* Add what the places of a piece of an image give. The copies are memory for it; that of gradients is
   NULL where one panel has all of them. */
static void sum_piece(const Summing *does, const Share *share, i64 at, f32 *copy,
                      f32 *gradients) {
  const Convolution *is = does->pieces.does;
  const Tiles *tiles = does->tiles;
  const i64 width = tiles->columns;
  i64 image = at / does->per_image, row = at % does->per_image * does->pieces.rows;
  i64 rows = smaller(does->pieces.rows, is->counts[0] - row), places = rows * is->counts[1];
  const f32 *seen = piece_at(&does->pieces, does->x + image * image_numbers(is), row, copy);
  const f32 *dy = does->dy + image * place_numbers(is) + row * is->counts[1] * is->filters;
  const i64 step = is->window.strides[1] * is->channels;
  /* So many places are added in a row: a part of a line, or some lines. */
  const i64 length = smaller(is->counts[1], 2 * IN_A_ROW), lines = 2 * IN_A_ROW / length;
  for (i64 panel = share->panels[0]; panel < share->panels[1]; panel++) {
    i64 columns = smaller(width, is->filters - panel * width);
    const f32 *by = dy;
    if (gradients) {
      f32 *to = gradients + (panel - share->panels[0]) * places * width;
      for (i64 i = 0; i < places; i++) {
        memcpy(to + i * width, dy + i * is->filters + panel * width,
               (size_t)columns * sizeof(f32));
        for (i64 j = columns; j < width; j++) to[i * width + j] = 0;
      }
      by = to;
    }
    for (i64 k = share->rows[0], count; k < share->rows[1]; k += count) {
      count = rows_at_once(tiles, share->rows[1] - k);
      f32 *to[MAX_ROWS];
      for (i64 i = 0; i < count; i++) to[i] = share->to + (k + i) * is->filters + panel * width;
      for (i64 r = 0; r < rows; r += lines)
        for (i64 c = 0; c < is->counts[1]; c += length) {
          const f32 *from[MAX_ROWS];
          for (i64 i = 0; i < count; i++)
            from[i] = seen + r * does->lines[1] + c * step + does->offsets[k + i];
          tiles->tile[count](from, does->lines, smaller(lines, rows - r),
                             smaller(length, is->counts[1] - c), step, NULL,
                             by + (r * is->counts[1] + c) * width, width, to, (int)columns, 0);
        }
    }
  }
}

static void sum_part(void *data, size_t index) {
  Summing *does = data;
  const Convolution *is = does->pieces.does;
  const Tiles *tiles = does->tiles;
  i64 part = (i64)index, panels = parts_of(is->filters, tiles->columns);
  i64 pieces = is->batch * does->per_image, begin = 0, end = pieces;
  Share share = {{0, does->inner}, {0, panels}, does->dw};
  if (does->sums) {
    begin = pieces * part / does->parts, end = pieces * (part + 1) / does->parts;
    share.to = does->sums + part * does->inner * is->filters;
  } else {
    i64 group = part % does->groups, tile_count = parts_of(does->inner, tiles->rows);
    share.rows[0] = tile_count * group / does->groups * tiles->rows;
    share.rows[1] = smaller(tile_count * (group + 1) / does->groups * tiles->rows, does->inner);
    share.panels[0] = part / does->groups, share.panels[1] = share.panels[0] + 1;
  }
  i64 column = share.panels[0] * tiles->columns;
  i64 columns = smaller(share.panels[1] * tiles->columns, is->filters) - column;
  for (i64 k = share.rows[0]; k < share.rows[1]; k++)
    memset(share.to + k * is->filters + column, 0, (size_t)columns * sizeof(f32));
  size_t piece = (size_t)in_whole_lines((i64)piece_numbers(&does->pieces));
  size_t gradients = is->filters == tiles->columns
                         ? 0
                         : (size_t)((share.panels[1] - share.panels[0]) * does->pieces.rows *
                                    is->counts[1] * tiles->columns);
  f32 *copy = numbers_in_lines(piece + gradients);
  if (!copy) {
    does->failed = 1;
    return;
  }
  for (i64 at = begin; at < end; at++)
    sum_piece(does, &share, at, copy, gradients ? copy + piece : NULL);
  free_lines(copy);
}

/* A stretch of the result from those of the parts. */
enum { STRETCH = 4096 };

static void add_stretch(void *data, size_t index) {
  const Summing *does = data;
  i64 numbers = does->inner * does->pieces.does->filters, from = (i64)index * STRETCH;
  i64 count = smaller(STRETCH, numbers - from);
  f32 *to = does->dw + from;
  memcpy(to, does->sums + from, (size_t)count * sizeof(f32));
  for (i64 part = 1; part < does->parts; part++) {
    const f32 *sum = does->sums + part * numbers + from;
    INDEPENDENT for (i64 i = 0; i < count; i++) to[i] += sum[i];
  }
}

enum { SMALL_RESULT = 1 << 16 };

int filter_gradient(const Convolution *given, const f32 *x, const f32 *dy, f32 *dw,
                    const Host *host) {
  if (winograd_pays(given)) {
    int failed = winograd_filter_gradient(given, x, dy, dw, host);
    if (failed != NOT_FINITE) return failed;
  }
  const Convolution is = flattened(given);
  const Window *window = &is.window;
  i64 inner = window->taps[0] * window->taps[1] * is.channels;
  if (is.batch == 0 || place_numbers(&is) == 0) {
    memset(dw, 0, (size_t)(inner * is.filters) * sizeof(f32));
    return 0;
  }
  Summing does = {.tiles = best_tiles(), .pieces = cut(&is), .x = x, .dy = dy, .dw = dw};
  i64 *offsets = malloc((size_t)(inner ? inner : 1) * sizeof *offsets);
  if (!offsets) return -1;
  for (i64 k = 0; k < inner; k++) {
    i64 tap = k / is.channels;
    offsets[k] = tap / window->taps[1] * window->dilations[0] * does.pieces.line +
                 tap % window->taps[1] * window->dilations[1] * is.channels + k % is.channels;
  }
  for (i64 i = 0; i <= 2 * IN_A_ROW; i++)
    does.lines[i] = i * is.window.strides[0] * does.pieces.line;
  does.inner = inner;
  does.offsets = offsets;
  does.per_image = parts_of(is.counts[0], does.pieces.rows);
  i64 panels = parts_of(is.filters, does.tiles->columns), numbers = inner * is.filters;
  does.groups =
      larger(1, smaller(parts_of(inner, does.tiles->rows), parts_of(FEW_PARTS, panels)));
  does.parts = panels * does.groups;
  i64 pieces = is.batch * does.per_image;
  if (numbers > 0 && numbers <= SMALL_RESULT && pieces >= LEAST_PIECES) {
    does.parts = smaller(FEW_PARTS, pieces);
    does.sums = numbers_in_lines((size_t)(does.parts * numbers));
    if (!does.sums) does.failed = 1;
  }
  int failed = 0;
  if (!does.failed)
    failed = host->in_parallel(host->context, sum_part, (size_t)does.parts, &does);
  if (!failed && !does.failed && does.sums)
    failed = host->in_parallel(host->context, add_stretch, (size_t)parts_of(numbers, STRETCH),
                               &does);
  free_lines(does.sums);
  free(offsets);
  return failed ? failed : does.failed ? -1 : 0;
}

/* --- pools ------------------------------------------------------------------------------------- */

typedef struct {
  const Convolution *does;
  const f32 *x, *y, *dy;
  f32 *to;
  i64 parts;
  atomic_int failed;
} Pooling;

/* The taps of a window that are inside of an axis: from the first one to before the last one. */
static void taps_inside(const Convolution *does, int axis, i64 place, i64 taps[2]) {
  const Window *window = &does->window;
  i64 at = place * window->strides[axis] - window->before[axis];
  i64 apart = window->dilations[axis], size = does->sizes[axis];
  taps[0] = at < 0 ? parts_of(-at, apart) : 0;
  taps[1] = at >= size ? 0 : smaller(window->taps[axis], parts_of(size - at, apart));
}

/* Where a tap of a window stands, in numbers of the image. */
static i64 tap_at(const Convolution *does, const i64 place[2], i64 row, i64 column) {
  const Window *window = &does->window;
  i64 y = place[0] * window->strides[0] - window->before[0] + row * window->dilations[0];
  i64 x = place[1] * window->strides[1] - window->before[1] + column * window->dilations[1];
  return (y * does->sizes[1] + x) * does->channels;
}

static void largest(const f32 *restrict x, f32 *restrict y, i64 count) {
  INDEPENDENT for (i64 i = 0; i < count; i++) y[i] =
      ((x[i] > y[i]) | (x[i] != x[i])) ? x[i] : y[i];
}

static void pool_window(const Pooling *pooling, const f32 *x, const i64 place[2], f32 *y) {
  const Convolution *does = pooling->does;
  i64 rows[2], columns[2], channels = does->channels;
  taps_inside(does, 0, place[0], rows);
  taps_inside(does, 1, place[1], columns);
  int first = 1;
  for (i64 row = rows[0]; row < rows[1]; row++)
    for (i64 column = columns[0]; column < columns[1]; column++, first = 0) {
      const f32 *from = x + tap_at(does, place, row, column);
      if (first)
        memcpy(y, from, (size_t)channels * sizeof(f32));
      else
        largest(from, y, channels);
    }
  for (i64 i = 0; first && i < channels; i++) y[i] = -__builtin_inff();
}

/* What is left of the gradient goes to a number that is the largest of its window. */
static void hand_out(const f32 *restrict x, const f32 *restrict y, f32 *restrict left,
                     f32 *restrict dx, i64 count) {
  INDEPENDENT for (i64 i = 0; i < count; i++) {
    int is_it = (x[i] == y[i]) | (x[i] != x[i]);
    dx[i] += is_it ? left[i] : 0.0f;
    left[i] = is_it ? 0.0f : left[i];
  }
}

static void hand_out_window(const Pooling *pooling, const f32 *x, const i64 place[2],
                            const f32 *y, f32 *left, f32 *dx) {
  const Convolution *does = pooling->does;
  i64 rows[2], columns[2];
  taps_inside(does, 0, place[0], rows);
  taps_inside(does, 1, place[1], columns);
  for (i64 row = rows[0]; row < rows[1]; row++)
    for (i64 column = columns[0]; column < columns[1]; column++) {
      i64 at = tap_at(does, place, row, column);
      hand_out(x + at, y, left, dx + at, does->channels);
    }
}

static void pool_part(void *data, size_t index) {
  Pooling *pooling = data;
  const Convolution *does = pooling->does;
  i64 channels = does->channels, part = (i64)index, numbers = image_numbers(does);
  i64 begin = does->batch * part / pooling->parts,
      end = does->batch * (part + 1) / pooling->parts;
  f32 *left = pooling->dy ? malloc((size_t)channels * sizeof(f32)) : NULL;
  if (pooling->dy && !left) {
    pooling->failed = 1;
    return;
  }
  if (left)
    memset(pooling->to + begin * numbers, 0, (size_t)((end - begin) * numbers) * sizeof(f32));
  for (i64 image = begin; image < end; image++) {
    const f32 *x = pooling->x + image * numbers;
    i64 at = image * does->counts[0] * does->counts[1] * channels, place[2];
    for (place[0] = 0; place[0] < does->counts[0]; place[0]++)
      for (place[1] = 0; place[1] < does->counts[1]; place[1]++, at += channels) {
        if (!left) {
          pool_window(pooling, x, place, pooling->to + at);
          continue;
        }
        memcpy(left, pooling->dy + at, (size_t)channels * sizeof(f32));
        hand_out_window(pooling, x, place, pooling->y + at, left,
                        pooling->to + image * numbers);
      }
  }
  free(left);
}

static int run_pooling(Pooling *pooling, const Host *host) {
  const Convolution *does = pooling->does;
  const i64 made = pooling->dy ? image_numbers(does) : place_numbers(does);
  if (does->batch == 0 || does->channels == 0 || made == 0) return 0;
  pooling->parts = smaller(does->batch, MOST_PARTS);
  int failed = host->in_parallel(host->context, pool_part, (size_t)pooling->parts, pooling);
  return failed ? failed : pooling->failed ? -1 : 0;
}

int pool(const Convolution *does, const f32 *x, f32 *y, const Host *host) {
  Pooling pooling = {.does = does, .x = x, .to = y};
  return run_pooling(&pooling, host);
}

int pool_gradient(const Convolution *does, const f32 *x, const f32 *y, const f32 *dy, f32 *dx,
                  const Host *host) {
  Pooling pooling = {.does = does, .x = x, .y = y, .dy = dy, .to = dx};
  return run_pooling(&pooling, host);
}
