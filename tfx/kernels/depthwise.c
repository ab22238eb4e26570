/* Convolutions of each channel with a filter of its own, and their gradients. The numbers of a row of places
   are added up in the first cache, tap by tap. */

#include "windows.h"
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_PARTS = 64, SUMMING_PARTS = 16 };

typedef struct Depthwise {
  const Convolution *does;
  const f32 *x, *w, *dy;
  f32 *to;
  f64 *sums; /* of each part, for the filter */
  f32 *rows; /* of a row of places each */
  i64 items, parts;
  void (*make_row)(const struct Depthwise *all, i64 image, i64 row, f32 *to);
  i64 rows_each, width; /* of an image of the result; numbers of a row */
} Depthwise;

/* Which places a tap sees the image from, along an axis: from ``range[0]`` up to ``range[1]``. */
static void places_inside(const Convolution *does, int axis, i64 tap, i64 range[2]) {
  const Window *window = &does->window;
  const i64 stride = window->strides[axis];
  const i64 first = tap * window->dilations[axis] - window->before[axis]; /* of place 0 */
  range[0] = first >= 0 ? 0 : (-first + stride - 1) / stride;
  range[1] = first >= does->sizes[axis]
                 ? 0
                 : smaller(does->counts[axis], (does->sizes[axis] - 1 - first) / stride + 1);
}

static void add_products(f32 *restrict to, const f32 *x, const f32 *w, i64 n) {
  INDEPENDENT for (i64 i = 0; i < n; i++) to[i] += x[i] * w[i];
}

/* A row of places of an image. */
static void depthwise_row(const Depthwise *all, i64 image, i64 row, f32 *y) {
  const Convolution *does = all->does;
  const Window *window = &does->window;
  const i64 n = does->channels;
  memset(y, 0, (size_t)(does->counts[1] * n) * sizeof *y);
  for (i64 ky = 0; ky < window->taps[0]; ky++) {
    const i64 line = row * window->strides[0] + ky * window->dilations[0] - window->before[0];
    if (line < 0 || line >= does->sizes[0]) continue;
    const f32 *x = all->x + (image * does->sizes[0] + line) * does->sizes[1] * n;
    for (i64 kx = 0; kx < window->taps[1]; kx++) {
      i64 range[2];
      places_inside(does, 1, kx, range);
      const i64 first = kx * window->dilations[1] - window->before[1];
      const f32 *w = all->w + (ky * window->taps[1] + kx) * n;
      for (i64 place = range[0]; place < range[1]; place++)
        add_products(y + place * n, x + (place * window->strides[1] + first) * n, w, n);
    }
  }
}

/* A row of an image, of which the places that see it know the gradient. */
static void depthwise_input_row(const Depthwise *all, i64 image, i64 line, f32 *dx) {
  const Convolution *does = all->does;
  const Window *window = &does->window;
  const i64 n = does->channels;
  memset(dx, 0, (size_t)(does->sizes[1] * n) * sizeof *dx);
  for (i64 ky = 0; ky < window->taps[0]; ky++) {
    const i64 from = line + window->before[0] - ky * window->dilations[0];
    const i64 row = from / window->strides[0];
    if (from < 0 || from % window->strides[0] || row >= does->counts[0]) continue;
    const f32 *dy = all->dy + (image * does->counts[0] + row) * does->counts[1] * n;
    for (i64 kx = 0; kx < window->taps[1]; kx++) {
      i64 range[2];
      places_inside(does, 1, kx, range);
      const i64 first = kx * window->dilations[1] - window->before[1];
      const f32 *w = all->w + (ky * window->taps[1] + kx) * n;
      for (i64 place = range[0]; place < range[1]; place++)
        add_products(dx + (place * window->strides[1] + first) * n, dy + place * n, w, n);
    }
  }
}

/* What a row of places adds to the gradient of the filter. */
static void depthwise_filter_row(const Depthwise *all, i64 image, i64 row, f32 *rows,
                                 f64 *sums) {
  const Convolution *does = all->does;
  const Window *window = &does->window;
  const i64 n = does->channels;
  const f32 *dy = all->dy + (image * does->counts[0] + row) * does->counts[1] * n;
  for (i64 ky = 0; ky < window->taps[0]; ky++) {
    const i64 line = row * window->strides[0] + ky * window->dilations[0] - window->before[0];
    if (line < 0 || line >= does->sizes[0]) continue;
    const f32 *x = all->x + (image * does->sizes[0] + line) * does->sizes[1] * n;
    for (i64 kx = 0; kx < window->taps[1]; kx++) {
      i64 range[2];
      places_inside(does, 1, kx, range);
      const i64 first = kx * window->dilations[1] - window->before[1];
      f64 *sum = sums + (ky * window->taps[1] + kx) * n;
      memset(rows, 0, (size_t)n * sizeof *rows);
      for (i64 place = range[0]; place < range[1]; place++)
        add_products(rows, x + (place * window->strides[1] + first) * n, dy + place * n, n);
      for (i64 i = 0; i < n; i++) sum[i] += (f64)rows[i];
    }
  }
}

static void depthwise_part(void *data, size_t index) {
  const Depthwise *all = data;
  const i64 part = (i64)index, last = all->items * (part + 1) / all->parts;
  for (i64 item = all->items * part / all->parts; item < last; item++)
    all->make_row(all, item / all->rows_each, item % all->rows_each,
                  all->to + item * all->width);
}

/* Make all rows of the images of the result, which have some sizes. */
static int make_rows(Depthwise *all, const i64 *sizes, const Host *host) {
  all->rows_each = sizes[0];
  all->width = sizes[1] * all->does->channels;
  all->items = all->does->batch * all->rows_each;
  if (all->items == 0 || all->width == 0) return 0;
  all->parts = smaller(all->items, ROW_PARTS);
  return host->in_parallel(host->context, depthwise_part, (size_t)all->parts, all);
}

static i64 filter_numbers(const Convolution *does) {
  return does->window.taps[0] * does->window.taps[1] * does->channels;
}

static void depthwise_filter_part(void *data, size_t index) {
  const Depthwise *all = data;
  const Convolution *does = all->does;
  const i64 numbers = filter_numbers(does), part = (i64)index;
  const i64 last = all->items * (part + 1) / all->parts;
  f64 *sums = all->sums + part * numbers;
  for (i64 i = 0; i < numbers; i++) sums[i] = 0;
  for (i64 item = all->items * part / all->parts; item < last; item++)
    depthwise_filter_row(all, item / does->counts[0], item % does->counts[0],
                         all->rows + part * does->channels, sums);
}

int depthwise(const Convolution *does, const f32 *x, const f32 *w, f32 *y, const Host *host) {
  Depthwise all = {.does = does, .x = x, .w = w, .to = y, .make_row = depthwise_row};
  return make_rows(&all, does->counts, host);
}

int depthwise_input_gradient(const Convolution *does, const f32 *dy, const f32 *w, f32 *dx,
                             const Host *host) {
  Depthwise all = {.does = does, .w = w, .dy = dy, .to = dx, .make_row = depthwise_input_row};
  return make_rows(&all, does->sizes, host);
}

int depthwise_filter_gradient(const Convolution *does, const f32 *x, const f32 *dy, f32 *dw,
                              const Host *host) {
  Depthwise all = {.does = does, .x = x, .dy = dy};
  const i64 numbers = filter_numbers(does);
  if (numbers == 0) return 0;
  all.items = does->batch * does->counts[0];
  if (all.items == 0 || does->counts[1] == 0 || does->sizes[0] == 0 || does->sizes[1] == 0) {
    memset(dw, 0, (size_t)numbers * sizeof *dw);
    return 0;
  }
  all.parts = smaller(all.items, SUMMING_PARTS);
  all.sums = malloc((size_t)(all.parts * numbers) * sizeof *all.sums + 1);
  all.rows = malloc((size_t)(all.parts * does->channels) * sizeof *all.rows + 1);
  int failed = all.sums && all.rows ? 0 : -1;
  if (!failed)
    failed = host->in_parallel(host->context, depthwise_filter_part, (size_t)all.parts, &all);
  for (i64 i = 0; i < numbers && !failed; i++) {
    f64 total = 0;
    for (i64 part = 0; part < all.parts; part++) total += all.sums[part * numbers + i];
    dw[i] = (f32)total;
  }
  free(all.sums);
  free(all.rows);
  return failed;
}
