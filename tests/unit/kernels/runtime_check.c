/* The custom operators under a runtime made for this: one that is too old, too new, another one than
   before; one whose functions fail, each in its turn; and tensors of sizes, types and numbers that no program
   was made for, up to those whose products no number of 64 bits holds. Memory ends with every tensor, for
   the sanitizers, which also see what is not freed. Arguments: the seed, and how many calls. Prints how many
   calls were tried, how many of them succeeded, and how many failed because a function did. */

#include "operator.c"

#include "fake_runtime.h"

static void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

/* Registration with a runtime of some version: the message of its failure, or an empty one. */
static const char *registered(const RuntimeApi *(*table)(uint32_t), uint32_t version,
                              int *options) {
  static char message[PROBLEM_SIZE + 100];
  const RuntimeApiBase base = {table, NULL};
  newest = version;
  RuntimeStatus *status = RegisterCustomOps((SessionOptions *)(void *)options, &base);
  snprintf(message, sizeof message, "%s", status ? message_of(status) : "");
  free_status(status);
  return message;
}

static void check_registration(void) {
  int options = 0;
  require(!*registered(first_table, 0, &options) && !options, "no table, no operators");
  require(strstr(registered(first_table, 17, &options), "version 18") != NULL && !options,
          "an old runtime is told which version is needed");
  const long needed = 2 + (long)(sizeof operators / sizeof operators[0]);
  for (fails_at = 1; fails_at < 90; fails_at++) {
    calls = 0, operators_added = 0;
    if (!*registered(first_table, 18, &options)) break;
  }
  require(fails_at == needed + 1 && options == 1, "a registration that fails can be repeated");
  fails_at = 0;
  require(!*registered(first_table, 24, &options) && options == 2, "a second session");
  require(!*registered(first_table, 4000, &options) && options == 3, "a newer runtime");
  require(strstr(registered(second_table, 24, &options), "another ONNX Runtime") != NULL,
          "a second runtime in the process is refused");
  require(options == 3, "and gets no operators");
  require(!*registered(first_table, below(2) ? 18 : 24, &options), "the first one still runs");
}

/* --- calls ------------------------------------------------------------------------------------- */

/* tanh is not asked for by its number, which may change: any function of a float32 does. */
static int64_t some_function(void) {
  extern int instruction_at(size_t index, const char **name, int types[4]);
  const char *found;
  int types[4];
  for (size_t i = 0; instruction_at(i, &found, types); i++)
    if (!strcmp(found, "Tanh") && types[0] == 1) return (int64_t)i;
  return 0;
}

static int only_usual; /* sizes, in a call of many tensors */

/* A size: mostly such that tensors fit one another, seldom one that no tensor with elements has. */
static int64_t some_size(int64_t usual) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 0, (int64_t)1 << 20, (int64_t)1 << 31,
                                  (int64_t)1 << 40, (int64_t)1 << 61, INT64_MAX};
  return only_usual || below(8) ? usual : sizes[below(below(2) ? 5 : 11)];
}

static void some_value(Value *value, int type, size_t rank, const int64_t *usual) {
  *value = (Value){.type = below(60) ? type : 7, .rank = below(60) ? rank : (size_t)below(10)};
  for (size_t axis = 0; axis < value->rank; axis++)
    value->sizes[axis] = some_size(axis < rank ? usual[axis] : 1 + below(3));
  value->data = space(value);
  for (size_t axis = 0; !value->data; axis++) { /* one that can be there */
    if (value->sizes[axis] > 9) value->sizes[axis] = below(2) ? 2 : 0;
    value->data = space(value);
  }
}

static size_t make_lstm(Info *info, Value *values, int is_gradient) {
  const int64_t t = below(4), b = below(5), i = 1 + below(5), u = 1 + below(below(4) ? 5 : 40);
  const int64_t x[] = {t, b, i}, w[] = {1, 4 * u, i}, r[] = {1, 4 * u, u}, bias[] = {1, 8 * u};
  const int64_t state[] = {1, b, u}, states[] = {t, 1, b, u}, gates[] = {t, b, 4 * u};
  const int64_t cells[] = {t, b, u}, width = lstm_panel_width(), parts = (u - 1) / width + 1;
  const int64_t w_panels[] = {parts, 4, 1 + i, width}, r_panels[] = {parts, 4, 1 + u, width};
  const int64_t rows[] = {t, b}, table[] = {1 + below(4), 4 * u};
  const int64_t *const usual[4][LSTM_INPUTS] = {{x, w, r, bias, state, state, states},
                                                {gates, cells, r, state, states, state, state},
                                                {x, w_panels, r_panels, bias, state, state, states},
                                                {rows, table, r_panels, bias, state, state, states}};
  static const size_t ranks[4][LSTM_INPUTS] = {
      {3, 3, 3, 2, 3, 3, 4}, {3, 3, 3, 3, 4, 3, 3}, {3, 4, 4, 2, 3, 3, 4}, {2, 2, 4, 2, 3, 3, 4}};
  const int is_packed = !is_gradient && below(3) == 0;
  const int64_t possible = below(40) && is_packed ? 2 * below(4) : below(16);
  const int64_t given = below(80) ? possible : 16 + below(3);
  const int has_table = is_packed && below(2), kind = is_packed ? 2 + has_table : is_gradient;
  size_t count = 0;
  only_usual = below(4) != 0;
  info->attributes[0] = (Attribute){"given", {given}, 1};
  info->attributes[1] = (Attribute){"units", {is_packed ? some_size(u) : 0}, 1};
  info->attributes[2] = (Attribute){"table", {has_table || below(60) == 0}, 1};
  info->attributes[3] = (Attribute){"threads", {below(60) ? below(4) : some_size(-1)}, 1};
  for (int n = 0; n < LSTM_INPUTS; n++)
    if (n < LSTM_REQUIRED || given >> (n - LSTM_REQUIRED) & 1)
      some_value(&values[count++], has_table && n == 0 ? 7 : 1, ranks[kind][n], usual[kind][n]);
  only_usual = 0;
  return count;
}

static size_t make_softmax(Info *info, Value *values, int is_gradient) {
  const int64_t sizes[] = {1 + below(3), 1 + below(4), 1 + below(5), 1 + below(70)}, one = 1;
  const int64_t masks = below(60) ? below(is_gradient ? 3 : 4) : 5 * below(2) - 1;
  const int64_t scales = below(60) ? below(3) : 3;
  const size_t less = (size_t)below(5);
  int64_t narrow[4];
  size_t count = 0;
  for (int axis = 0; axis < 4; axis++) narrow[axis] = below(3) ? sizes[axis] : 1;
  info->attributes[0] = (Attribute){"mask", {masks}, 1};
  info->attributes[1] = (Attribute){"scale", {scales}, 1};
  only_usual = below(4) != 0;
  some_value(&values[count++], 1, 4, is_gradient || below(2) ? sizes : narrow);
  if (is_gradient) some_value(&values[count++], 1, 4, sizes);
  if (masks > 0) some_value(&values[count++], masks == ADDED ? 1 : 9, 4 - less, narrow + less);
  if (is_gradient ? scales > 0 : masks == COUNTS_TRUE || masks == COUNTS_FALSE)
    some_value(&values[count++], 1, (size_t)below(2), &one);
  only_usual = 0;
  return count;
}

/* A tensor of some sizes as a view has them, and the view: axes in any order, and perhaps one more. */
static Attribute some_view(const char *name, const int64_t *sizes, int rank, Value *value) {
  Attribute made = {.name = name, .count = (size_t)rank + 2};
  int64_t *axes = made.numbers, usual[MAX_RANK];
  const int other = below(2) ? (int)below(rank + 1) : -1, turned = (int)below(rank);
  const int64_t places = 1 + below(3);
  for (int i = 0; i < rank; i++) {
    axes[i] = (i + turned) % rank;
    axes[i] += other >= 0 && axes[i] >= other;
    usual[axes[i]] = sizes[i];
  }
  axes[rank] = other, axes[rank + 1] = other < 0 ? 0 : below(60) ? below(places) : 4 * below(2) - 1;
  if (other >= 0) usual[other] = places;
  if (!below(150)) axes[below(rank + 1)] = below(12) - 2;
  if (!below(150)) made.count = (size_t)below(rank + 3);
  if (value) some_value(value, 1, (size_t)(rank + (other >= 0)), usual);
  return made;
}

static size_t make_attention(Info *info, Value *values, int is_gradient) {
  static const char *const results[2][3] = {{"to"}, {"dq", "dk", "dv"}};
  const int rank = 2 + (int)below(4);
  const int64_t queries = 1 + below(6), keys = below(2) ? queries : 1 + below(40), size = 1 + below(5);
  const int64_t width = below(2) ? size : 1 + below(5), masks = below(60) ? below(4) : 5 * below(2) - 1;
  const int64_t scales = below(60) ? below(3) : 3, matrices[4][2] = {{queries, size}, {keys, size},
                                                                       {keys, width}, {queries, width}};
  static const char *const names[] = {"q", "k", "v", "dy"};
  int64_t sizes[MAX_RANK], narrow[MAX_RANK];
  size_t count = 0, attributes = 2;
  info->attributes[0] = (Attribute){"mask", {masks}, 1};
  info->attributes[1] = (Attribute){"scale", {scales}, 1};
  only_usual = below(4) != 0;
  for (int i = 0; i < rank - 2; i++) sizes[i] = below(20) ? 1 + below(3) : 0;
  for (int i = 0; i < 3 + is_gradient; i++) {
    memcpy(narrow, sizes, sizeof sizes);
    for (int axis = 0; axis < rank - 2; axis++)
      if (!is_gradient && !below(4)) narrow[axis] = 1;
    memcpy(narrow + rank - 2, matrices[i], sizeof matrices[i]);
    if (i == 3) { /* what was kept comes before it */
      int64_t kept[MAX_RANK];
      memcpy(kept, sizes, sizeof sizes);
      kept[rank - 2] = queries, kept[rank - 1] = 2;
      some_value(&values[count++], 1, (size_t)rank, kept);
    }
    info->attributes[attributes++] = some_view(names[i], narrow, rank, &values[count]);
    count++;
  }
  const int is_joined = is_gradient && queries == keys && size == width && below(4);
  Attribute one = some_view("", sizes, rank, NULL);
  for (int i = 0; i < (is_gradient ? 3 : 1); i++) {
    Attribute *to = &info->attributes[attributes++];
    *to = is_joined ? one : some_view("", sizes, rank, NULL);
    to->name = results[is_gradient][i];
    if (is_joined && to->numbers[rank] >= 0) to->numbers[rank + 1] = (i + (queries & 1)) % 3;
    while (!is_joined && to->numbers[rank] >= 0 && below(90))
      *to = some_view(to->name, sizes, rank, NULL);
  }
  sizes[rank - 2] = queries, sizes[rank - 1] = keys;
  const int less = (int)below(rank);
  for (int i = 0; i < rank; i++) narrow[i] = below(3) ? sizes[i] : 1;
  if (masks > 0)
    some_value(&values[count++], masks == ADDED ? 1 : 9, (size_t)(rank - less), narrow + less);
  if (masks == COUNTS_TRUE || masks == COUNTS_FALSE) some_value(&values[count++], 1, 0, sizes);
  if (scales > 0) some_value(&values[count++], 1, 0, sizes);
  only_usual = 0;
  return count;
}

static size_t make_rows(Info *info, Value *values, int is_added) {
  const int64_t rows = 1 + below(9), count = below(20), columns = below(70), is_wide = below(2);
  const int64_t sizes[] = {rows, 1 + below(40), columns}, to[] = {rows, columns}, one[] = {1, 1};
  const int64_t x[] = {below(5) ? count : 1, below(2) ? columns : below(columns + 1)};
  const int64_t index[] = {count, below(4) ? 1 : x[1]};
  if (!is_added) {
    info->attributes[0] = (Attribute){"mean", {below(2)}, 1};
    info->attributes[1] = (Attribute){"axes", {below(20) ? 2 + below(2) : below(12) - 1}, 1};
    some_value(&values[0], 1, 3, sizes), some_value(&values[1], 1, 3, sizes);
    if (below(2)) return 2;
    free(values[1].data), values[1].data = NULL;
    return 1;
  }
  static const int types[] = {TYPE_f32, TYPE_f64, TYPE_i32, TYPE_i64};
  const int type = types[below(4)], floats = type == TYPE_f32 || type == TYPE_f64;
  /* Along the first axis of a matrix, or of more axes of size 1 in front. */
  const int64_t first = below(60) ? below(3) : below(12) - 2, more = below(60) ? first : below(3);
  int64_t tos[4], xs[4], indices_of[4];
  for (int64_t i = 0; i < 4; i++) {
    const int64_t at = i - more;
    tos[i] = at < 0 || at > 1 ? 2 : to[at], xs[i] = at < 0 || at > 1 ? 2 : x[at];
    indices_of[i] = at < 0 || at > 1 ? 1 + below(2) : below(4) ? index[at] : one[at];
  }
  const size_t rank = (size_t)(more < 0 ? 2 : more > 2 ? 4 : 2 + more);
  info->attributes[0] = (Attribute){"index", {below(60) ? is_wide ? INT64 : INT32 : below(9)}, 1};
  info->attributes[1] = (Attribute){"type", {below(60) ? type : below(14)}, 1};
  info->attributes[2] = (Attribute){"axis", {first}, 1};
  info->attributes[3] = (Attribute){"way", {floats ? below(WAYS) : below(60) ? BY_SUM : below(9) - 2}, 1};
  output_types[0] = type;
  some_value(&values[0], type, rank, tos), some_value(&values[2], type, rank, xs);
  some_value(&values[1], is_wide ? INT64 : INT32, rank, indices_of);
  const int64_t indices = elements(values[1].sizes, (int)values[1].rank);
  for (int64_t i = 0; i < indices; i++) {
    const int64_t row = below(90) ? below(2 * rows) - rows : 1 << below(30);
    if (values[1].type == INT64) ((int64_t *)values[1].data)[i] = row;
    if (values[1].type == INT32) ((int32_t *)values[1].data)[i] = (int32_t)row;
  }
  return 3;
}

static size_t make_distinct(Info *info, Value *values) {
  static const int types[] = {TYPE_f32, TYPE_f64, TYPE_i32, TYPE_i64};
  const int64_t count = below(3000);
  info->attributes[0] = (Attribute){"type", {types[below(4)]}, 1};
  const int type = (int)info->attributes[0].numbers[0];
  some_value(&values[0], type, 1, &count);
  output_types[0] = type, output_types[1] = output_types[2] = output_types[3] = INT64;
  return 1;
}

static size_t make_integer_product(Info *info, Value *values) {
  static const int types[] = {TYPE_i32, TYPE_i64};
  const int type = types[below(2)];
  const int64_t n = 1 + below(40), inner = below(20), m = below(50), many = 1 + below(3);
  const int64_t left[] = {many, n, inner}, right[] = {many, inner, m};
  const size_t rank = 2 + (size_t)below(2), right_rank = below(2) ? 2 : rank;
  info->attributes[0] = (Attribute){"type", {type}, 1};
  some_value(&values[0], type, rank, left + 3 - rank);
  some_value(&values[1], type, right_rank, right + 3 - right_rank);
  output_types[0] = type;
  return 2;
}

/* The results of a node. */
static size_t results_of(const CustomOperator *does, const Info *info) {
  const char *kind = does->get_name(does);
  if (!strcmp(kind, "FlashAttention")) return 2;
  if (!strcmp(kind, "FlashAttentionGradient")) {
    const Attribute *dq = &info->attributes[6];
    return dq->count > 1 && dq->numbers[dq->count - 2] >= 0 ? 1 : 3;
  }
  if (!strcmp(kind, "FusedLoop") || !strcmp(kind, "Distinct")) return 4;
  if (!strcmp(kind, "LstmGradient")) return 3;
  return strcmp(kind, "Lstm") ? 1 : info->attributes[0].numbers[0] >> 3 & 1 ? 2 : 5;
}

/* What a node of each operator has as attributes; the sizes of its inputs that fit. */
static size_t make_call(const CustomOperator *does, Info *info, Value *values, int *biased) {
  const char *kind = does->get_name(does);
  memset(info, 0, sizeof *info);
  *biased = 0;
  for (int i = 0; i < 8; i++) output_types[i] = 1;
  if (!strcmp(kind, "Fused")) { /* a function of a sum over an axis of one and itself, and the sum */
    const int64_t words[] = {PROGRAM_FORMAT, 1, 1, 1, 0, 2, 1, 1, 1, 0, 1, below(2), 0, 1 + below(3), 1, 1,
                             0, 2, 1, 2, 1, 1, 0, 1, 0, 2, 1, 2, 0, some_function(), 3 << 16,
                             (SOURCE << 16) + below(2), 0, 0};
    const int64_t sizes[] = {1 + below(40), 1 + below(40)};
    info->attributes[0] = (Attribute){.name = "program", .count = sizeof words / 8};
    memcpy(info->attributes[0].numbers, words, sizeof words);
    some_value(&values[0], 1, 2, sizes);
    return 1;
  }
  if (!strcmp(kind, "FusedLoop")) { /* the number of iterations, and a value that becomes its function */
    const int64_t words[] = {PROGRAM_FORMAT, 2, 2, 0, 0, 2, 7, 1, 1, 1,
                             0, 2, 1, 1, 1, 1, 1, 0, 0, 0, some_function(), 3 << 16, SOURCE << 16, 0, 0,
                             0, 2, 1, 1, 1, 1, 1, 0, 0, 1, some_function(), 3 << 16, SOURCE << 16, 0, 0};
    const int64_t sizes[] = {1 + below(5), 1 + below(300)};
    static const char *const names[] = {"carried", "collected", "tests"};
    info->attributes[0] = (Attribute){.name = "program", .count = sizeof words / 8};
    memcpy(info->attributes[0].numbers, words, sizeof words);
    for (int i = 0; i < 3; i++)
      info->attributes[1 + i] = (Attribute){names[i], {i < 2}, 1};
    some_value(&values[0], 7, 0, sizes), some_value(&values[1], 7, 0, sizes);
    some_value(&values[2], 9, 0, sizes), some_value(&values[3], 1, 2, sizes);
    for (int i = 0; i < 2; i++)
      if (values[i].rank == 0) *(int64_t *)values[i].data = below(4);
    output_types[0] = 9, output_types[1] = 7;
    return 4;
  }
  if (!strcmp(kind, "ColumnSum")) {
    const size_t count = below(2) ? 4 : 1 + (size_t)below(2);
    const int64_t sizes[] = {1 + below(3), 1 + below(90), 1 + below(9)};
    info->attributes[0] = (Attribute){"mean", {below(2)}, 1};
    info->attributes[1] = (Attribute){"axes", {below(20) ? 1 + below(3) : below(12) - 1}, 1};
    for (size_t i = 0; i < count; i++)
      some_value(&values[i], 1, i < 2 ? 3 : 1, i < 2 ? sizes : sizes + 2);
    return count;
  }
  if (strstr(kind, "Softmax")) return make_softmax(info, values, *kind == 'S');
  if (strstr(kind, "Attention")) return make_attention(info, values, strstr(kind, "Gradient") != NULL);
  if (strstr(kind, "Row")) return make_rows(info, values, *kind == 'A');
  if (!strcmp(kind, "Distinct")) return make_distinct(info, values);
  if (!strcmp(kind, "IntegerProduct")) return make_integer_product(info, values);
  if (strstr(kind, "Lstm")) return make_lstm(info, values, strcmp(kind, "Lstm") != 0);
  Attribute window = {.name = "window", .count = below(80) ? 12 : 11};
  for (int i = 0; i < 12; i++)
    window.numbers[i] = i < 6 ? 1 + below(3) : i < 10 ? below(3) : 0;
  for (int i = 4; i < 6; i++)
    if (window.numbers[i - 2] > 1) window.numbers[i] = 1;
  for (int i = 0; i < 12; i++)
    if (!below(40)) window.numbers[i] = below(2) ? 1 << 20 : below(1 << 21);
  info->attributes[0] = window;
  info->attributes[1] = (Attribute){"positive", {below(2)}, 1};
  const int64_t c = 1 + below(9), f = 1 + below(9), *n = window.numbers;
  const int64_t image[] = {1 + below(3), 1 + below(9), 1 + below(9), c};
  int64_t places[] = {image[0], 0, 0, f};
  for (int axis = 0; axis < 2; axis++) {
    const int64_t room = image[1 + axis] + n[6 + axis] + n[8 + axis] -
                         ((n[axis] - 1) * n[4 + axis] + 1);
    places[1 + axis] = room < 0 ? 0 : room / n[2 + axis] + 1;
  }
  if (strcmp(kind, "ChannelsLastConvAtPoints") == 0) {
    const int64_t eight = 8 * (1 + below(3)), width = product_panel_width();
    const int64_t filters = below(9) ? eight : f, channels = below(9) ? 8 : c;
    const int64_t panels[] = {below(30) ? 36 : 35, (filters + width - 1) / width, 1 + channels, width};
    const int64_t seen[] = {image[0], image[1], image[2], channels};
    for (int axis = 0; axis < 2 && below(9); axis++) {
      int64_t *of = info->attributes[0].numbers + axis;
      of[0] = 3, of[2] = of[4] = of[6] = of[8] = 1;
    }
    const int64_t same[] = {image[0], image[1], image[2], filters};
    some_value(&values[0], 1, 4, seen), some_value(&values[1], 1, 4, panels);
    some_value(&values[2], 1, 1, &filters), some_value(&values[3], 1, 4, same);
    return 3 + (int)below(2);
  }
  const int is_depthwise = strstr(kind, "Depthwise") != NULL;
  const int is_pool = strstr(kind, "Pool") != NULL;
  if (is_depthwise || is_pool) places[3] = c;
  const int64_t filter[] = {n[0], n[1], c, is_depthwise ? 1 : f};
  const int of_image = strstr(kind, "InputGradient") != NULL;
  some_value(&values[0], 1, 4, of_image ? places : image);
  if (is_pool) {
    some_value(&values[1], 1, 4, places), some_value(&values[2], 1, 4, places);
    return strstr(kind, "Gradient") ? 3 : 1;
  }
  some_value(&values[1], 1, 4, strstr(kind, "FilterGradient") ? places : filter);
  if (strcmp(kind, "ChannelsLastConv") != 0 || below(2)) return 2;
  some_value(&values[2], 1, 1, &f);
  *biased = 1;
  return 3;
}

static char last_message[PROBLEM_SIZE + 100];

/* Make a kernel, compute, and let go of everything. Returns whether that succeeded. */
static int call(const CustomOperator *does, const Info *info, Value *values, size_t count) {
  void *kernel = NULL;
  Context context = {.input_count = count};
  context.output_count = results_of(does, info);
  for (size_t i = 0; i < count; i++) context.inputs[i] = values[i].data ? &values[i] : NULL;
  RuntimeStatus *status = does->create_kernel_with_status(
      does, NULL, (const KernelInfo *)(const void *)info, &kernel);
  if (!status) {
    status = does->kernel_compute_with_status(kernel, (KernelContext *)(void *)&context);
    does->kernel_destroy(kernel);
  }
  const int succeeded = status == NULL;
  if (status) require(strlen(message_of(status)) > 5, "a failure says why");
  snprintf(last_message, sizeof last_message, "%s", status ? message_of(status) : "");
  free_status(status);
  for (size_t i = 0; i < context.output_count; i++) free(context.outputs[i].data);
  require(!statuses && !shapes_lent, "what the runtime lends is given back");
  return succeeded;
}

/* A failure of the operator's own, before memory for the result is asked for. */
static void require_refused(const CustomOperator *does, Info info, int count, Value *values,
                            const char *says) {
  for (int i = 0; i < 8; i++) output_types[i] = 1;
  for (int i = 0; i < count; i++) {
    values[i].type = 1;
    values[i].data = space(&values[i]);
    require(values[i].data != NULL, "a tensor of the test is small");
  }
  require(!call(does, &info, values, (size_t)count), says);
  if (!strstr(last_message, says)) fprintf(stderr, "%s: %s\n", does->get_name(does), last_message);
  require(strstr(last_message, says) != NULL, says);
  for (int i = 0; i < count; i++) free(values[i].data);
}

/* Sizes with which products of them overflow. */
static void check_overflows(void) {
  const int64_t far = (int64_t)1 << 61, border = 1 << 20;
  const int64_t words[] = {PROGRAM_FORMAT, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 2, 0, 0};
  const int64_t row[] = {PROGRAM_FORMAT, 2, 1, 0, 0, 1, 1, 7, 1, 3, 0, 1, 0};
  Info reduces = {{{.name = "program", .count = sizeof words / 8}}};
  memcpy(reduces.attributes[0].numbers, words, sizeof words);
  require_refused(&fused, reduces, 1, (Value[]){{.rank = 2, .sizes = {far, 0}}}, "too many elements");
  Info takes = {{{.name = "program", .count = sizeof row / 8}}};
  memcpy(takes.attributes[0].numbers, row, sizeof row);
  Value of_rows[2] = {{.rank = 3, .type = 1, .sizes = {0, far, 8}}, {.type = 7}};
  for (int i = 0; i < 2; i++) of_rows[i].data = space(&of_rows[i]);
  require(!call(&fused, &takes, of_rows, 2) && strstr(last_message, "too many elements"), last_message);
  for (int i = 0; i < 2; i++) free(of_rows[i].data);
  const Info sums = {{{"mean", {1}, 1}, {"axes", {1}, 1}}};
  require_refused(&column_sum, sums, 1, (Value[]){{.rank = 2, .sizes = {0, far}}}, "too many elements");
  require_refused(&column_sum, sums, 1, (Value[]){{.rank = 4, .sizes = {far, 0, 1, far}}},
                  "too many elements");
  const Info layer = {{{"given", {0}, 1}, {"units", {0}, 1}, {"table", {0}, 1}, {"threads", {0}, 1}}};
  require_refused(&operator_lstm, layer, 3,
                  (Value[]){{.rank = 3, .sizes = {far, 0, 1}}, {.rank = 3, .sizes = {1, 4, 1}},
                            {.rank = 3, .sizes = {1, 4, 1}}},
                  "a size is not possible");
  require_refused(&operator_lstm_gradient, layer, 3,
                  (Value[]){{.rank = 3, .sizes = {0, far, 4}}, {.rank = 3, .sizes = {0, far, 1}},
                            {.rank = 3, .sizes = {1, 4, 1}}},
                  "a size is not possible");
  const Info wide = {{{.name = "window", .numbers = {1, 1, border, border, 1, 1, border, border, border, border},
                       .count = 12}, {"positive", {0}, 1}}};
  require_refused(&operator_CONV, wide, 2,
                  (Value[]){{.rank = 4, .sizes = {1, 1, 1, border}}, {.rank = 4, .sizes = {1, 1, border, 1}}},
                  "a size is not possible");
  require_refused(&operator_MAX_POOL, wide, 1, (Value[]){{.rank = 4, .sizes = {0, far, 1, 1}}},
                  "a size is not possible");
  require_refused(&operator_MAX_POOL, wide, 1, (Value[]){{.rank = 4, .sizes = {far, 0, 1, far}}},
                  "a size is not possible");
  require_refused(&operator_DEPTHWISE_INPUT_GRADIENT, wide, 2,
                  (Value[]){{.rank = 4, .sizes = {0, far, 1, 1}}, {.rank = 4, .sizes = {1, 1, 1, 1}}},
                  "a size is not possible");
}

/* Tensors that no softmax has. */
static void check_softmax(void) {
  const Info alone = {{{"mask", {NO_MASK}, 1}, {"scale", {NOT_SCALED}, 1}}};
  const Info added = {{{"mask", {ADDED}, 1}}};
  const Info scaled = {{{"mask", {NO_MASK}, 1}, {"scale", {DIVIDED}, 1}}};
  const char *unfit = "sizes of tensors do not fit one another";
  require_refused(&operator_softmax, alone, 1, (Value[]){{.rank = 0}}, unfit);
  require_refused(&operator_softmax, added, 2,
                  (Value[]){{.rank = 2, .sizes = {2, 3}}, {.rank = 2, .sizes = {2, 2}}}, unfit);
  require_refused(&operator_softmax, added, 2, (Value[]){{.rank = 0}, {.rank = 0}}, unfit);
  require_refused(&operator_softmax, alone, 1, (Value[]){{.rank = 9, .sizes = {1, 1, 1, 1, 1, 1, 1, 1, 2}}},
                  "an input has too many axes");
  require_refused(&operator_softmax_gradient, alone, 2, (Value[]){{.rank = 0}, {.rank = 0}}, unfit);
  require_refused(&operator_softmax_gradient, alone, 2,
                  (Value[]){{.rank = 2, .sizes = {2, 3}}, {.rank = 2, .sizes = {3, 2}}}, unfit);
  require_refused(&operator_softmax_gradient, alone, 2,
                  (Value[]){{.rank = 2, .sizes = {1, 6}}, {.rank = 1, .sizes = {6}}}, unfit);
  require_refused(&operator_softmax_gradient, scaled, 3,
                  (Value[]){{.rank = 1, .sizes = {3}}, {.rank = 1, .sizes = {3}}, {.rank = 1, .sizes = {2}}},
                  "a number has several elements");
  const Info unknown = {{{"mask", {4}, 1}, {"scale", {0}, 1}}}, none = {{{"mask", {ADDED}, 1}, {"scale", {0}, 1}}};
  require_refused(&operator_softmax, unknown, 1, (Value[]){{.rank = 1, .sizes = {3}}}, "another mask");
  require_refused(&operator_softmax_gradient, none, 2,
                  (Value[]){{.rank = 1, .sizes = {3}}, {.rank = 1, .sizes = {3}}}, "another mask");
}

/* Attention of three tensors that have one arrangement. */
static Info of_attention(int rank) {
  static const char *const names[] = {"q", "k", "v", "to"};
  Info info = {{{"mask", {NO_MASK}, 1}, {"scale", {NOT_SCALED}, 1}}};
  for (int i = 0; i < 4; i++) {
    Attribute *view = &info.attributes[2 + i];
    *view = (Attribute){.name = names[i], .count = (size_t)rank + 2};
    for (int axis = 0; axis < rank; axis++) view->numbers[axis] = axis;
    view->numbers[rank] = -1;
  }
  return info;
}

/* Tensors of sizes that no memory holds, or that do not fit, and views of axes that there are not. */
static void check_attention(void) {
  const int64_t far = (int64_t)1 << 61;
  const char *unfit = "sizes of tensors do not fit one another";
  const Value few = {.rank = 3, .sizes = {0, 3, 4}}, many = {.rank = 3, .sizes = {0, far, 4}};
  const Value nothing = {.rank = 3, .sizes = {far, 0, 4}}, deep = {.rank = 3, .sizes = {0, 3, far}};
  Info info = of_attention(3);
  require_refused(&operator_attention, info, 3, (Value[]){few, many, many}, "too many elements");
  require_refused(&operator_attention, info, 3, (Value[]){nothing, nothing, nothing}, "too many elements");
  require_refused(&operator_attention, info, 3, (Value[]){deep, deep, deep}, "too many elements");
  require_refused(&operator_attention, info, 3, (Value[]){few, few, deep, few}, "too many elements");
  require_refused(&operator_attention, info, 3, (Value[]){few, few, many}, unfit);
  require_refused(&operator_attention, of_attention(2), 3, (Value[]){few, few, few}, "other axes");
  info.attributes[2].numbers[1] = 2;
  require_refused(&operator_attention, info, 3, (Value[]){few, few, few}, "other axes");
  info = of_attention(3), info.attributes[5].numbers[3] = 3;
  require_refused(&operator_attention, info, 3, (Value[]){few, few, few}, "other axes");
  info = of_attention(3), info.attributes[2].numbers[3] = 3, info.attributes[2].numbers[4] = 2;
  const Value places = {.rank = 4, .sizes = {2, 3, 4, 2}}, part = {.rank = 3, .sizes = {2, 3, 4}};
  require_refused(&operator_attention, info, 3, (Value[]){places, part, part}, "other sizes");
  const Info narrow = {{{"mean", {0}, 1}, {"axes", {2}, 1}}};
  require_refused(&row_sum, narrow, 1, (Value[]){{.rank = 3, .sizes = {far, 8, 0}}}, "too many elements");
  require_refused(&row_sum, narrow, 1, (Value[]){{.rank = 1, .sizes = {3}}}, unfit);
  const Info none = {{{"mean", {0}, 1}, {"axes", {0}, 1}}};
  require_refused(&column_sum, none, 1, (Value[]){{.rank = 2, .sizes = {3, 4}}}, unfit);
}

/* A call of small or empty tensors that has to succeed, and at once: nothing is done for each tap. */
static void require_done(const CustomOperator *does, Info info, int count, Value *values) {
  for (int i = 0; i < 8; i++) output_types[i] = 1;
  for (int i = 0; i < count; i++) {
    values[i].type = 1;
    values[i].data = space(&values[i]);
    require(values[i].data != NULL, "a tensor of the test is small");
  }
  require(call(does, &info, values, (size_t)count), last_message);
  for (int i = 0; i < count; i++) free(values[i].data);
}

/* Windows of very many taps, or of taps far apart, over images of nothing. */
static void check_empty(void) {
  const int64_t many = 1 << 15, far = 1 << 20, half = far / 2;
  Info info = {{{.name = "window", .numbers = {many, many, 1, 1, 1, 1}, .count = 12}, {"positive", {0}, 1}}};
  require_done(&operator_DEPTHWISE_FILTER_GRADIENT, info, 2,
               (Value[]){{.rank = 4, .sizes = {1, 2 * many, 2 * many, 0}},
                         {.rank = 4, .sizes = {1, many + 1, many + 1, 0}}});
  info.attributes[0].numbers[5] = 2;
  require_done(&operator_CONV, info, 2,
               (Value[]){{.rank = 4, .sizes = {1, many, 2 * many - 1, 0}},
                         {.rank = 4, .sizes = {many, many, 0, 3}}});
  const Info narrow = {{{.name = "window", .numbers = {many, 64, 1, 1, 1, 1}, .count = 12}}};
  require_done(&operator_DEPTHWISE_FILTER_GRADIENT, narrow, 2,
               (Value[]){{.rank = 4, .sizes = {1, far, 0, 1}},
                         {.rank = 4, .sizes = {1, far - many + 1, 0, 1}}});
  const Info apart = {{{.name = "window", .numbers = {2, 2, 1, 1, far, far}, .count = 12}, {"positive", {0}, 1}}};
  require_done(&operator_CONV, apart, 2,
               (Value[]){{.rank = 4, .sizes = {1, 4, 4, 1}}, {.rank = 4, .sizes = {2, 2, 1, 8}}});
  const Info padded = {{{.name = "window", .numbers = {2, 2, 1, 1, far, far, half, half, half, half},
                         .count = 12}}};
  require_refused(&operator_CONV_INPUT_GRADIENT, padded, 2,
                  (Value[]){{.rank = 4, .sizes = {1, 1, 1, 8}}, {.rank = 4, .sizes = {2, 2, 1, 8}}},
                  "a size is not possible");
  const int64_t wide = (int64_t)1 << 61;
  const Info alone = {{{"mask", {NO_MASK}, 1}, {"scale", {NOT_SCALED}, 1}}}, added = {{{"mask", {ADDED}, 1}}};
  require_done(&operator_softmax, added, 2,
               (Value[]){{.rank = 3, .sizes = {wide, 0, wide}}, {.rank = 2, .sizes = {0, wide}}});
  require_done(&operator_softmax, added, 2,
               (Value[]){{.rank = 2, .sizes = {wide, 0}}, {.rank = 3, .sizes = {wide, 1, 0}}});
  require_done(&operator_softmax_gradient, alone, 2,
               (Value[]){{.rank = 4, .sizes = {wide, wide, 0, 7}}, {.rank = 4, .sizes = {wide, wide, 0, 7}}});
  lacks_outputs = 1;
  const Info small = {{{.name = "window", .numbers = {1, 1, 1, 1, 1, 1}, .count = 12}}};
  require_refused(&operator_MAX_POOL, small, 1, (Value[]){{.rank = 4, .sizes = {1, 1, 1, 1}}},
                  "an output is missing");
  require_refused(&operator_softmax, alone, 1, (Value[]){{.rank = 1, .sizes = {9}}}, "an output is missing");
  lacks_outputs = 0;
}

/* Each call that an LSTM makes of the runtime, between its steps too, may be the one that fails. */
static void check_failures(void) {
  Value values[8];
  for (int is_gradient = 0; is_gradient < 2; is_gradient++) {
    const CustomOperator *does = is_gradient ? &operator_lstm_gradient : &operator_lstm;
    const int64_t t = 3, b = 5, u = 140;
    const int64_t firsts[2][3] = {{t, b, 2}, {t, b, 4 * u}}, seconds[2][3] = {{1, 4 * u, 2}, {t, b, u}};
    const int64_t third[] = {1, 4 * u, u}, *const usual[] = {firsts[is_gradient], seconds[is_gradient], third};
    const Info info = {{{"given", {0}, 1}, {"units", {0}, 1}, {"table", {0}, 1}, {"threads", {0}, 1}}};
    for (int i = 0; i < 8; i++) output_types[i] = 1;
    for (int i = 0; i < 3; i++) {
      values[i] = (Value){.type = 1, .rank = 3};
      memcpy(values[i].sizes, usual[i], 3 * sizeof *usual[i]);
      values[i].data = space(&values[i]);
    }
    for (fails_at = 1; fails_at < 60; fails_at++) {
      calls = 0;
      if (call(does, &info, values, 3)) break;
      require(strstr(last_message, "the runtime fails") != NULL, last_message);
    }
    require(fails_at > 20 && fails_at < 60, "an LSTM asks the runtime for every step");
    for (int i = 0; i < 3; i++) free(values[i].data);
  }
  fails_at = 0;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  state = strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252u;
  const long wanted = strtol(argv[2], NULL, 10);
  const size_t kinds = sizeof operators / sizeof operators[0];
  long succeeded = 0, broken = 0;
  fill_table(tables[0]), fill_table(tables[1]);
  check_registration();
  check_overflows();
  check_softmax();
  check_attention();
  check_empty();
  check_failures();
  for (long tried = 0; tried < wanted; tried++) {
    Info info;
    Value values[8] = {{0}};
    int biased;
    const CustomOperator *does = operators[below((int64_t)kinds)];
    size_t count = make_call(does, &info, values, &biased);
    lends_shapes = (int)below(2);
    fails_at = 0;
    if (!below(60)) count = (size_t)below(8);
    if (!below(60)) free(values[0].data), values[0].data = NULL; /* an input is missing */
    const int fits = call(does, &info, values, count);
    succeeded += fits;
    for (fails_at = 1; fits && !below(4); fails_at++) {
      calls = 0;
      if (call(does, &info, values, count)) break;
      broken++;
    }
    for (int i = 0; i < 8; i++) free(values[i].data);
  }
  printf("%ld %ld %ld\n", wanted, succeeded, broken);
  return 0;
}
