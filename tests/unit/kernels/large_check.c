/* Kernels on tensors of more than 2^31 numbers, whose memory is of pages of zeros, but for a few numbers;
   behind the last one is nothing that can be read. Prints what was tried. */

#define _GNU_SOURCE

#include "program.c"

#include "sums.h"
#include "windows.h"

#include <sys/mman.h>
#include <unistd.h>

#define COUNT (((i64)1 << 31) + 4096)

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

/* Memory that ends where it can no longer be read. */
static char *zeros(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  char *made = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(made != MAP_FAILED, "there is room for addresses");
  madvise(made, whole, MADV_NOHUGEPAGE); /* a huge page for a few numbers takes memory */
  check(!mprotect(made + whole, page, PROT_NONE), "memory is protected");
  return made + (whole - bytes);
}

static char result[1 << 16];

static int make_result(void *context, size_t output, Tensor *tensor) {
  (void)context, (void)output;
  check(elements(tensor->sizes, tensor->rank) <= (i64)sizeof result / 4, "a result is small");
  tensor->data = result;
  return 0;
}

static const f32 *run(const i64 *words, size_t count, const Tensor *inputs) {
  char problem[200] = "";
  const Host host = {make_result, one_by_one, NULL};
  Program *program = program_read(words, count, problem, sizeof problem);
  check(program != NULL, problem);
  check(!program_run(program, inputs, &host, problem, sizeof problem), problem);
  program_free(program);
  return (const f32 *)(const void *)result;
}

int main(void) {
  f32 *x = (f32 *)(void *)zeros((size_t)COUNT * sizeof *x);
  const Host host = {make_result, one_by_one, NULL};
  f32 *to = (f32 *)(void *)result;
  x[3] = 1, x[COUNT - 4] = 2, x[COUNT - 1] = 4;

  const i64 maximum[] = {PROGRAM_FORMAT, 1, 1, 0, 0, 1, 1, 1, 1, 2, 0, 1, 0, 0};
  const Tensor rows = {x, 2, {COUNT / 4, 4}};
  const f32 *found = run(maximum, sizeof maximum / sizeof maximum[0], &rows);
  check(found[0] == 2 && found[1] == 0 && found[2] == 0 && found[3] == 4, "maxima of columns");
  puts("reduction");

  i64 index = -1;
  const i64 row[] = {PROGRAM_FORMAT, 2, 1, 0, 0, 1, 1, 7, 1, 3, 0, 1, 0};
  const Tensor of_rows[] = {rows, {&index, 0, {0}}};
  found = run(row, sizeof row / sizeof row[0], of_rows);
  check(found[0] == 2 && found[3] == 4, "the last row");
  puts("row");

  const Columns columns = {.x = x};
  check(!sum_columns(&columns, COUNT / 4, 4, 1, to, &host), "columns are summed");
  check(to[0] == 2 && to[1] == 0 && to[2] == 0 && to[3] == 5, "sums of columns");
  puts("columns");

  /* An image of COUNT / 4096 rows of 1024 places, each of which has 4 numbers. */
  Convolution pools = {.batch = 1, .sizes = {COUNT / 4096, 1024}, .channels = 4, .filters = 4};
  pools.window = (Window){{2, 2}, {COUNT / 4096 - 2, 1022}, {1, 1}, {0, 0}};
  pools.counts[0] = pools.counts[1] = 2;
  check(is_possible(&pools, 1, 0), "an image of so many numbers is possible");
  check(!pool(&pools, x, to, &host), "maxima are taken");
  check(to[3] == 1 && to[4 * 3] == 2 && to[4 * 3 + 3] == 4 && to[4] == 0, "maxima of windows");
  puts("pool");

  f32 w[2 * 2 * 4], *at = w;
  for (int i = 0; i < 16; i++) *at++ = 1;
  Convolution sums = pools;
  sums.filters = 1;
  check(is_possible(&sums, 0, 0) && !convolve(&sums, x, w, NULL, 0, to, &host), "it is convolved");
  check(to[0] == 1 && to[1] == 0 && to[2] == 0 && to[3] == 6, "sums of windows");
  puts("convolution");
  return 0;
}
