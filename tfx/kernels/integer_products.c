#include "integer_products.h"

/* Rows and columns of a block of the result, which stays in registers while it is summed up, and of a strip
   that one thread does at once. */
enum { ROWS = 4, COLUMNS = 16, AT_ONCE = 32 };

/* Without a sign, so that what wraps around is defined; the bits are the same. */
#define BLOCK(T)                                                                               \
  INLINED void block_##T(const T *left, const T *right, T *to, i64 inner, i64 columns,         \
                         int rows) {                                                           \
    T sums[ROWS][COLUMNS] = {{0}};                                                             \
    for (i64 k = 0; k < inner; k++, right += columns)                                          \
      for (int row = 0; row < rows; row++) {                                                   \
        const T x = left[row * inner + k];                                                     \
        for (int i = 0; i < COLUMNS; i++) sums[row][i] += x * right[i];                        \
      }                                                                                        \
    for (int row = 0; row < rows; row++)                                                       \
      for (int i = 0; i < COLUMNS; i++) to[row * columns + i] = sums[row][i];                  \
  }                                                                                            \
  static void strip_##T(const IntegerProduct *does, i64 first, i64 rows) {                     \
    const i64 inner = does->inner, columns = does->columns, one = first / does->rows;          \
    const T *left = (const T *)does->left + first * inner;                                     \
    const T *right = (const T *)does->right + one * inner * columns;                           \
    T *to = (T *)does->to + first * columns;                                                   \
    i64 column = 0;                                                                            \
    for (; column + COLUMNS <= columns; column += COLUMNS) {                                   \
      i64 row = 0;                                                                             \
      for (; row + ROWS <= rows; row += ROWS)                                                  \
        block_##T(left + row * inner, right + column, to + row * columns + column, inner,      \
                  columns, ROWS);                                                              \
      for (; row < rows; row++)                                                                \
        block_##T(left + row * inner, right + column, to + row * columns + column, inner,      \
                  columns, 1);                                                                 \
    }                                                                                          \
    for (i64 row = 0; row < rows && column < columns; row++) /* the last columns */            \
      for (i64 i = column; i < columns; i++) {                                                 \
        T sum = 0;                                                                             \
        for (i64 k = 0; k < inner; k++) sum += left[row * inner + k] * right[k * columns + i]; \
        to[row * columns + i] = sum;                                                           \
      }                                                                                        \
  }

BLOCK(u32)
BLOCK(u64)

static void multiply_strip(void *data, size_t index) {
  const IntegerProduct *does = data;
  const i64 strips = (does->rows + AT_ONCE - 1) / AT_ONCE;
  const i64 one = (i64)index / strips, row = (i64)index % strips * AT_ONCE;
  const i64 first = one * does->rows + row, rows = smaller(AT_ONCE, does->rows - row);
  if (does->is_wide)
    strip_u64(does, first, rows);
  else
    strip_u32(does, first, rows);
}

int multiply_integers(const IntegerProduct *does, const Host *host) {
  if (!does->count || !does->rows || !does->columns) return 0;
  const i64 strips = (does->rows + AT_ONCE - 1) / AT_ONCE;
  return host->in_parallel(host->context, multiply_strip, (size_t)(strips * does->count),
                           (void *)(uintptr_t)does);
}
