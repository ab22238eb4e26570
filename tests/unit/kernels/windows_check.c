/* Convolutions, those of single channels, their gradients and pools over random windows, compared with sums in float64. Memory of
   tensors ends with them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

/* Small images in several pieces, and pieces in several parts. */
#define PIECE_BYTES 200
#define LEAST_PLACES 5
#define LEAST_PIECES 2
#define PANEL_BYTES 900
/* Sums of few products at a time, also in the middle of a run and of a line. */
#define IN_A_ROW 7
/* Blocks of few tiles, wherever tiles are possible. */
#define BLOCK_BYTES (5 * PLANES * 16 * 4)
#define SHARED_BYTES (7 * PLANES * 16 * 4)
#define LEAST_TILES 3
#define LEAST_CHANNELS 8
#define EACH_NUMBER 0
#define EACH_WEIGHT 0

#include "tiles.c"

#include "depthwise.c"
#include "windows.c"
#include "winograd.c"

static f32 *whole_numbers(i64 count) {
  f32 *made = space(count * (i64)sizeof *made);
  for (i64 i = 0; i < count; i++) made[i] = (f32)below(4);
  return made;
}

static f32 *nothing(i64 count) {
  f32 *made = space(count * (i64)sizeof *made);
  memset(made, 255, (size_t)count * sizeof *made);
  return made;
}

static Convolution any(void) {
  Convolution does = {.batch = below(4), .channels = below(below(2) ? 40 : 9)};
  does.filters = below(below(3) ? 9 : 70);
  const int tiled = below(3) == 0, square = below(2) ? 3 : 5; /* as winograd.c has them */
  if (tiled) does.channels = 8 * (1 + below(4)), does.filters = 8 * (1 + below(6));
  for (int axis = 0; axis < 2; axis++) {
    Window *window = &does.window;
    does.sizes[axis] = below(below(3) ? 9 : 20);
    window->taps[axis] = 1 + below(4);
    window->strides[axis] = 1 + below(3);
    window->dilations[axis] = window->strides[axis] == 1 ? 1 + below(3) : 1;
    if (tiled) window->taps[axis] = square, window->strides[axis] = window->dilations[axis] = 1;
    i64 reach = (window->taps[axis] - 1) * window->dilations[axis] + 1;
    window->before[axis] = below(4) ? below(reach + 2) : -below(3);
    i64 room = does.sizes[axis] + window->before[axis] + below(reach + 1) - reach;
    does.counts[axis] = room < 0 ? 0 : room / window->strides[axis] + 1;
  }
  return does;
}

/* Where a tap of a place stands in an image, or -1. */
static i64 seen(const Convolution *does, int axis, i64 place, i64 tap) {
  const Window *window = &does->window;
  i64 at = place * window->strides[axis] + tap * window->dilations[axis] - window->before[axis];
  return at < 0 || at >= does->sizes[axis] ? -1 : at;
}

typedef struct {
  f32 *x, *w, *dy;
  f64 *y, *dx, *dw;
} Expected;

static void convolve_slowly(const Convolution *does, const Expected *all, const i64 place[3],
                            const i64 tap[2]) {
  i64 row = seen(does, 0, place[1], tap[0]), column = seen(does, 1, place[2], tap[1]);
  if (row < 0 || column < 0) return;
  for (i64 c = 0; c < does->channels; c++)
    for (i64 o = 0; o < does->filters; o++) {
      i64 x =
          ((place[0] * does->sizes[0] + row) * does->sizes[1] + column) * does->channels + c;
      i64 w =
          ((tap[0] * does->window.taps[1] + tap[1]) * does->channels + c) * does->filters + o;
      i64 y = ((place[0] * does->counts[0] + place[1]) * does->counts[1] + place[2]) *
                  does->filters +
              o;
      all->y[y] += (f64)all->x[x] * (f64)all->w[w];
      all->dx[x] += (f64)all->dy[y] * (f64)all->w[w];
      all->dw[w] += (f64)all->x[x] * (f64)all->dy[y];
    }
}

#define EACH_PLACE(does, place)                                                                \
  for (place[0] = 0; place[0] < (does)->batch; place[0]++)                                     \
    for (place[1] = 0; place[1] < (does)->counts[0]; place[1]++)                               \
      for (place[2] = 0; place[2] < (does)->counts[1]; place[2]++)
#define EACH_TAP(does, tap)                                                                    \
  for (tap[0] = 0; tap[0] < (does)->window.taps[0]; tap[0]++)                                  \
    for (tap[1] = 0; tap[1] < (does)->window.taps[1]; tap[1]++)

/* The same with a filter that is at the points already, and an image that is added. */
static int check_at_points(const Convolution *does, const Expected *all, const f32 *bias,
                           i64 of_y) {
  TiledConvolution packs = {.tiling = tiling_of(does, BLOCK_BYTES, FEW_BLOCKS), .w = all->w};
  const i64 count = PLANES * packs.tiling.panels * panel_numbers(&packs.tiling);
  f32 *panels = space(count * (i64)sizeof *panels), *added = numbers(of_y), *y = nothing(of_y);
  f64 *expected = space(of_y * (i64)sizeof *expected);
  memset(panels, 0, (size_t)count * sizeof *panels);
  packs.panels = panels;
  for (i64 i = 0; i < does->channels / VECTOR_LENGTH; i++) pack_part(&packs, (size_t)i);
  const int adds = below(2), positive = below(2);
  for (i64 i = 0; i < of_y; i++) {
    expected[i] = all->y[i] + (f64)bias[i % does->filters] + (adds ? (f64)added[i] : 0);
    if (positive && expected[i] < 0) expected[i] = 0;
  }
  const FilterAtPoints filter = {panels, bias, adds ? added : NULL, positive};
  const int wrong = convolve_at_points(does, all->x, &filter, y, &plain) ||
                    differ("y at points", y, expected, of_y);
  free(panels), free(added), free(y), free(expected);
  return wrong;
}

static int check_convolution(const Convolution *does) {
  i64 of_x = does->batch * image_numbers(does);
  i64 of_y = does->batch * place_numbers(does);
  i64 of_w = does->window.taps[0] * does->window.taps[1] * does->channels * does->filters;
  f32 *y = nothing(of_y), *dx = nothing(of_x), *dw = nothing(of_w);
  Expected all = {numbers(of_x), numbers(of_w), numbers(of_y),
                  zeros(of_y),   zeros(of_x),   zeros(of_w)};
  i64 place[3], tap[2];
  /* What is not finite comes where it belongs, and nowhere else; but a gradient that is not finite has a
     product with the zeros around an image. */
  const int endless = of_y && below(8) == 0;
  if (of_x && below(8) == 0) all.x[below(of_x)] = below(2) ? INFINITY : NAN;
  if (endless) all.dy[below(of_y)] = -INFINITY;
  EACH_PLACE(does, place) EACH_TAP(does, tap) convolve_slowly(does, &all, place, tap);
  /* Mostly with a bias, and sometimes without what is below 0. */
  f32 *bias = numbers(does->filters);
  const int biased = below(4) != 0, positive = below(2);
  if (can_be_at_points(does) && check_at_points(does, &all, bias, of_y)) return 1;
  for (i64 i = 0; i < of_y; i++) {
    if (biased) all.y[i] += (f64)bias[i % does->filters];
    if (positive && all.y[i] < 0) all.y[i] = 0;
  }
  int wrong = convolve(does, all.x, all.w, biased ? bias : NULL, positive, y, &plain) ||
              input_gradient(does, all.dy, all.w, dx, &plain) ||
              filter_gradient(does, all.x, all.dy, dw, &plain) || differ("y", y, all.y, of_y) ||
              differ("dx", dx, all.dx, of_x) || (!endless && differ("dw", dw, all.dw, of_w));
  free(y), free(dx), free(dw), free(all.x), free(all.w), free(all.dy);
  free(all.y), free(all.dx), free(all.dw), free(bias);
  return wrong;
}

static int check_depthwise(const Convolution *given) {
  Convolution of = *given, *does = &of;
  of.filters = of.channels;
  i64 of_x = does->batch * image_numbers(does);
  i64 of_y = does->batch * place_numbers(does);
  i64 of_w = does->window.taps[0] * does->window.taps[1] * does->channels;
  f32 *y = nothing(of_y), *dx = nothing(of_x), *dw = nothing(of_w);
  Expected all = {numbers(of_x), numbers(of_w), numbers(of_y),
                  zeros(of_y),   zeros(of_x),   zeros(of_w)};
  i64 place[3], tap[2], n = does->channels;
  EACH_PLACE(does, place) EACH_TAP(does, tap) {
    i64 row = seen(does, 0, place[1], tap[0]), column = seen(does, 1, place[2], tap[1]);
    for (i64 c = 0; c < n && row >= 0 && column >= 0; c++) {
      i64 at_x = ((place[0] * does->sizes[0] + row) * does->sizes[1] + column) * n + c;
      i64 at_w = (tap[0] * does->window.taps[1] + tap[1]) * n + c;
      i64 at_y = ((place[0] * does->counts[0] + place[1]) * does->counts[1] + place[2]) * n + c;
      all.y[at_y] += (f64)all.x[at_x] * (f64)all.w[at_w];
      all.dx[at_x] += (f64)all.dy[at_y] * (f64)all.w[at_w];
      all.dw[at_w] += (f64)all.x[at_x] * (f64)all.dy[at_y];
    }
  }
  int wrong = depthwise(does, all.x, all.w, y, &plain) ||
              depthwise_input_gradient(does, all.dy, all.w, dx, &plain) ||
              depthwise_filter_gradient(does, all.x, all.dy, dw, &plain) ||
              differ("depthwise y", y, all.y, of_y) ||
              differ("depthwise dx", dx, all.dx, of_x) ||
              differ("depthwise dw", dw, all.dw, of_w);
  free(y), free(dx), free(dw), free(all.x), free(all.w), free(all.dy);
  free(all.y), free(all.dx), free(all.dw);
  return wrong;
}

/* The window of one channel: its maximum, and the gradient to the first place that has it. */
static void pool_slowly(const Convolution *does, const Expected *all, const i64 place[3],
                        i64 c) {
  i64 tap[2], found = -1;
  f64 most = -INFINITY;
  EACH_TAP(does, tap) {
    i64 row = seen(does, 0, place[1], tap[0]), column = seen(does, 1, place[2], tap[1]);
    if (row < 0 || column < 0) continue;
    i64 x = ((place[0] * does->sizes[0] + row) * does->sizes[1] + column) * does->channels + c;
    if (found < 0 || (f64)all->x[x] > most) found = x, most = (f64)all->x[x];
  }
  i64 y =
      ((place[0] * does->counts[0] + place[1]) * does->counts[1] + place[2]) * does->channels +
      c;
  all->y[y] = found < 0 ? 0 : most;
  if (found >= 0) all->dx[found] += (f64)all->dy[y];
}

static int check_pool(const Convolution *given) {
  Convolution pools = *given, *does = &pools;
  pools.filters = pools.channels;
  i64 of_x = does->batch * image_numbers(does);
  i64 of_y = does->batch * place_numbers(does);
  f32 *y = nothing(of_y), *dx = nothing(of_x);
  Expected all = {whole_numbers(of_x), NULL, numbers(of_y), zeros(of_y), zeros(of_x), NULL};
  i64 place[3];
  EACH_PLACE(does, place)
  for (i64 c = 0; c < does->channels; c++) pool_slowly(does, &all, place, c);
  int wrong = pool(does, all.x, y, &plain) || pool_gradient(does, all.x, y, all.dy, dx, &plain);
  for (i64 i = 0; i < of_y; i++) /* a window that sees nothing */
    if (y[i] == -INFINITY) y[i] = 0;
  wrong = wrong || differ("maxima", y, all.y, of_y) || differ("their dx", dx, all.dx, of_x);
  free(y), free(dx), free(all.x), free(all.dy), free(all.y), free(all.dx);
  return wrong;
}

static int is_wrong_case(void) {
  const Convolution does = any();
  if (!check_convolution(&does) && !check_depthwise(&does) && !check_pool(&does)) return 0;
  const Window *window = &does.window;
  fprintf(stderr, "of a batch of %d: ", (int)does.batch);
  for (int axis = 0; axis < 2; axis++)
    fprintf(stderr, "%d sizes, %d taps, stride %d, dilation %d, %d before, %d places; ",
            (int)does.sizes[axis], (int)window->taps[axis], (int)window->strides[axis],
            (int)window->dilations[axis], (int)window->before[axis], (int)does.counts[axis]);
  fprintf(stderr, "%d channels, %d filters\n", (int)does.channels, (int)does.filters);
  return 1;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
