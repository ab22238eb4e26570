/* Custom operators of ONNX Runtime. ``Fused`` runs a program, given by its attribute, on tensors.
   ``FusedLoop`` runs it again and again, for some milliseconds; a ``Loop`` around it, between whose
   iterations ONNX Runtime looks whether the run is to end, calls it until it is done. Its inputs are
   the number of iterations, that of the first one, whether to begin, the carried values and others; its
   outputs whether to go on, the number of the next iteration, the carried values and rows of what is
   collected.

   Every failure is a status with a sentence; nothing ends the process. */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "distinct.h"
#include "integer_products.h"
#include "lstm.h"
#include "matmul.h"
#include "numbers.h"
#include "program.h"
#include "runtime_api.h"
#include "sums.h"
#include "tiles.h"
#include "windows.h"

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#define DOMAIN_NAME "tfx.kernels"
#define PROBLEM_SIZE 200
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define VERSION_TEXT TEXT_OF(RUNTIME_API_VERSION)

static const RuntimeApi *api; /* one for the process: all sessions are of one ONNX Runtime */
static int lends_shapes;      /* whether it hands out the sizes of a tensor without a copy */

/* A function of the table, by its place and as its type. */
#define CALL(TYPE, PLACE) ((TYPE)api[PLACE])

APART RuntimeStatus *refuse(const char *problem) {
  char message[PROBLEM_SIZE + 20];
  snprintf(message, sizeof message, "Fused: %s", problem);
  return CALL(CreateStatus, CREATE_STATUS)(INVALID_ARGUMENT, message);
}

/* What a node of either operator keeps. */
typedef struct {
  Program *program;
  Repetition loop;
} Kernel;

static RuntimeStatus *read_program(const KernelInfo *info, Program **program) {
  enum { MAX_WORDS = 1 << 20 };
  InfoGetAttributeArrayInt64 get =
      CALL(InfoGetAttributeArrayInt64, INFO_GET_ATTRIBUTE_ARRAY_INT64);
  size_t count = 0;
  char problem[PROBLEM_SIZE] = "its program is too long";
  RuntimeStatus *status = get(info, "program", NULL, &count);
  if (status) return status;
  if (count > MAX_WORDS) return refuse(problem);
  int64_t *words = calloc(count ? count : 1, sizeof *words);
  if (!words) return refuse("there is no memory left");
  status = get(info, "program", words, &count);
  if (!status) {
    *program = program_read(words, count, problem, sizeof problem);
    if (!*program) status = refuse(problem);
  }
  free(words);
  return status;
}

static void destroy(void *kernel) {
  if (kernel) program_free(((Kernel *)kernel)->program);
  free(kernel);
}

static RuntimeStatus *create(const CustomOperator *self, const RuntimeApi *unused,
                             const KernelInfo *info, void **made) {
  (void)self, (void)unused;
  Kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return refuse("there is no memory left");
  RuntimeStatus *status = read_program(info, &kernel->program);
  if (status) {
    destroy(kernel);
    return status;
  }
  *made = kernel;
  return NULL;
}

static RuntimeStatus *create_loop(const CustomOperator *self, const RuntimeApi *unused,
                                  const KernelInfo *info, void **made) {
  RuntimeStatus *status = create(self, unused, info, made);
  if (status) return status;
  KernelInfoInt64 get = CALL(KernelInfoInt64, INFO_GET_ATTRIBUTE_INT64);
  Kernel *kernel = *made;
  int64_t carried = 0, collected = 0, tests = 0;
  status = get(info, "carried", &carried);
  if (!status) status = get(info, "collected", &collected);
  if (!status) status = get(info, "tests", &tests);
  if (!status && (carried < 0 || carried > MAX_GIVEN || collected < 0 || collected > MAX_GIVEN))
    status = refuse("too much is carried or collected");
  if (!status) {
    kernel->loop = (Repetition){(size_t)carried, (size_t)collected, tests != 0};
    const char *problem = program_refuses(kernel->program, kernel->loop);
    if (problem) status = refuse(problem);
  }
  if (status) {
    destroy(kernel);
    *made = NULL;
  }
  return status;
}

typedef struct {
  KernelContext *context;
  RuntimeStatus *status; /* of what failed */
  size_t first_output;   /* the node's, of those that the program makes */
} Run;

static int make_output(void *context, size_t output, Tensor *tensor) {
  Run *run = context;
  RuntimeValue *value = NULL;
  run->status = CALL(ContextGetOutput, CONTEXT_GET_OUTPUT)(
      run->context, run->first_output + output, tensor->sizes, (size_t)tensor->rank, &value);
  if (!run->status && !value) run->status = refuse("an output is missing");
  if (!run->status)
    run->status = CALL(GetTensorMutableData, GET_TENSOR_MUTABLE_DATA)(value, &tensor->data);
  return run->status != NULL;
}

static int in_parallel(void *context, void (*part)(void *data, size_t index), size_t count,
                       void *data) {
  Run *run = context;
  run->status =
      CALL(ContextParallelFor, CONTEXT_PARALLEL_FOR)(run->context, part, count, 0, data);
  return run->status != NULL;
}

/* Type and sizes of a tensor, as releases from before version 24 of the interface tell them. */
static RuntimeStatus *older_type_and_shape(const RuntimeValue *value, int *type, int64_t *sizes,
                                           size_t *rank) {
  TypeAndShape *shape = NULL;
  RuntimeStatus *status = CALL(GetTensorTypeAndShape, GET_TENSOR_TYPE_AND_SHAPE)(value, &shape);
  if (status) return status;
  status = CALL(GetTensorElementType, GET_TENSOR_ELEMENT_TYPE)(shape, type);
  if (!status) status = CALL(GetDimensionsCount, GET_DIMENSIONS_COUNT)(shape, rank);
  if (!status && *rank <= MAX_RANK)
    status = CALL(GetDimensions, GET_DIMENSIONS)(shape, sizes, *rank);
  CALL(ReleaseTypeAndShape, RELEASE_TYPE_AND_SHAPE)(shape);
  return status;
}

/* An input; what the program was not made for is refused. */
APART RuntimeStatus *read_input(const Run *run, size_t index, int wanted, Tensor *tensor) {
  const RuntimeValue *value = NULL;
  const int64_t *sizes = NULL;
  int type = 0;
  size_t rank = 0;
  RuntimeStatus *status = CALL(ContextGetInput, CONTEXT_GET_INPUT)(run->context, index, &value);
  if (status) return status;
  if (!value) return refuse("an input is missing");
  if (lends_shapes) {
    status = CALL(GetTypeAndShapeReference, GET_TYPE_AND_SHAPE_REFERENCE)(value, &type, &sizes,
                                                                          &rank);
    if (!status && rank <= MAX_RANK && rank) memcpy(tensor->sizes, sizes, rank * sizeof *sizes);
  } else {
    status = older_type_and_shape(value, &type, tensor->sizes, &rank);
  }
  if (status) return status;
  if (type != wanted) return refuse("an input is of another type than its program's");
  if (rank > MAX_RANK) return refuse("an input has too many axes");
  tensor->rank = (int)rank;
  /* The interface has one function for reading and writing; inputs are only read. */
  return CALL(GetTensorMutableData, GET_TENSOR_MUTABLE_DATA)((RuntimeValue *)value,
                                                             &tensor->data);
}

APART RuntimeStatus *check_counts(const KernelContext *context, size_t inputs,
                                   size_t outputs) {
  size_t given = 0, wanted = 0;
  RuntimeStatus *status = CALL(ContextGetCount, CONTEXT_GET_INPUT_COUNT)(context, &given);
  if (!status) status = CALL(ContextGetCount, CONTEXT_GET_OUTPUT_COUNT)(context, &wanted);
  if (!status && (given != inputs || wanted != outputs))
    status = refuse("it has not as many inputs and outputs as its program");
  return status;
}

static RuntimeStatus *compute(void *kernel, KernelContext *context) {
  const Program *program = ((const Kernel *)kernel)->program;
  Run run = {context, NULL, 0};
  Host host = {make_output, in_parallel, &run};
  Tensor inputs[MAX_GIVEN];
  char problem[PROBLEM_SIZE] = "there is no memory left";
  RuntimeStatus *status =
      check_counts(context, program_inputs(program), program_outputs(program));
  for (size_t i = 0; !status && i < program_inputs(program); i++)
    status = read_input(&run, i, program_input_type(program, i), &inputs[i]);
  if (status) return status;
  int failed = program_run(program, inputs, &host, problem, sizeof problem);
  if (!failed) return NULL;
  return run.status ? run.status : refuse(problem);
}

enum {
  TYPE_FLOAT32 = 1,
  INT32 = 6,
  INT64 = 7,
  BOOL = 9,
  LIMIT = 0,
  START = 1,
  GO = 2,
  HEAD = 3
};

static RuntimeStatus *compute_loop(void *given, KernelContext *context) {
  const Kernel *kernel = given;
  const Program *program = kernel->program;
  Run run = {context, NULL, 0};
  Host host = {make_output, in_parallel, &run};
  Tensor head[HEAD], inputs[MAX_GIVEN], result;
  char problem[PROBLEM_SIZE] = "there is no memory left";
  size_t count = program_inputs(program);
  RuntimeStatus *status = check_counts(context, HEAD - 1 + count,
                                       2 + kernel->loop.carried + kernel->loop.collected);
  for (size_t i = 0; !status && i < HEAD; i++) {
    status = read_input(&run, i, i == GO ? BOOL : INT64, &head[i]);
    for (int axis = 0; !status && axis < head[i].rank; axis++)
      if (head[i].sizes[axis] != 1) status = refuse("a loop is controlled by one number each");
  }
  for (size_t i = 1; !status && i < count; i++)
    status = read_input(&run, HEAD - 1 + i, program_input_type(program, i), &inputs[i]);
  if (status) return status;
  inputs[0] = head[START]; /* its sizes are not looked at */
  int64_t at = *(const int64_t *)head[START].data;
  unsigned char goes_on = *(const unsigned char *)head[GO].data;
  run.first_output = 2;
  int failed = program_repeat(program, kernel->loop, inputs, *(const int64_t *)head[LIMIT].data,
                              &at, &goes_on, &host, problem, sizeof problem);
  run.first_output = 0;
  result.rank = 0;
  if (!failed) failed = make_output(&run, 0, &result);
  if (!failed) *(unsigned char *)result.data = goes_on;
  if (!failed) failed = make_output(&run, 1, &result);
  if (!failed) *(int64_t *)result.data = at;
  if (!failed) return NULL;
  return run.status ? run.status : refuse(problem);
}

static const char *name(const CustomOperator *self) {
  (void)self;
  return "Fused";
}

static const char *name_of_loop(const CustomOperator *self) {
  (void)self;
  return "FusedLoop";
}

static const char *provider(const CustomOperator *self) {
  (void)self;
  return "CPUExecutionProvider";
}

static int any_type(const CustomOperator *self, size_t index) {
  (void)self, (void)index;
  return 0;
}

static size_t one(const CustomOperator *self) {
  (void)self;
  return 1;
}

static int variadic(const CustomOperator *self, size_t index) {
  (void)self, (void)index;
  return INPUT_OUTPUT_VARIADIC;
}

static int memory(const CustomOperator *self, size_t index) {
  (void)self, (void)index;
  return 0;
}

static int at_least_one(const CustomOperator *self) {
  (void)self;
  return 1;
}

static int of_any_types(const CustomOperator *self) {
  (void)self;
  return 0;
}

static void keep(int *inputs, int *outputs) { (void)inputs, (void)outputs; }

/* An operator with any number of inputs and outputs, of any types; which results may stand where an input
   stood tells a function, if there are such. */
#define OPERATOR(NAME, CREATE, COMPUTE, DESTROY, OVER)                                         \
  {                                                                                            \
      .version = RUNTIME_API_VERSION,                                                          \
      .get_name = NAME,                                                                        \
      .get_execution_provider = provider,                                                      \
      .get_input_type = any_type,                                                              \
      .get_input_type_count = one,                                                             \
      .get_output_type = any_type,                                                             \
      .get_output_type_count = one,                                                            \
      .kernel_destroy = DESTROY,                                                               \
      .get_input_characteristic = variadic,                                                    \
      .get_output_characteristic = variadic,                                                   \
      .get_input_memory_type = memory,                                                         \
      .get_variadic_input_min_arity = at_least_one,                                            \
      .get_variadic_input_homogeneity = of_any_types,                                          \
      .get_variadic_output_min_arity = at_least_one,                                           \
      .get_variadic_output_homogeneity = of_any_types,                                         \
      .create_kernel_with_status = CREATE,                                                     \
      .kernel_compute_with_status = COMPUTE,                                                   \
      .get_start_version = at_least_one,                                                       \
      .get_end_version = at_least_one,                                                         \
      .get_may_inplace = OVER,                                                                 \
      .release_may_inplace = keep,                                                             \
  }

/* A kernel that consists of the type of its operands, an attribute. */
static RuntimeStatus *read_type(const KernelInfo *info, const char *attribute, void **made) {
  int64_t type = 0;
  RuntimeStatus *status = CALL(KernelInfoInt64, INFO_GET_ATTRIBUTE_INT64)(info, attribute, &type);
  if (status) return status;
  int *kernel = malloc(sizeof *kernel);
  if (!kernel) return refuse("there is no memory left");
  *kernel = (int)type;
  *made = kernel;
  return NULL;
}

static const CustomOperator fused = OPERATOR(name, create, compute, destroy, NULL);
static const CustomOperator fused_loop =
    OPERATOR(name_of_loop, create_loop, compute_loop, destroy, NULL);

/* Work is divided among no more. */
enum { MOST_THREADS = 64 };

#include "sum_operators.inc"
#include "distinct_operators.inc"
#include "integer_product_operators.inc"
#include "lstm_operators.inc"
#include "softmax_operators.inc"
#include "attention_operators.inc"
#include "matmul_operators.inc"
#include "window_operators.inc"

static const CustomOperator *const operators[] = {&fused,
                                                  &fused_loop,
                                                  &column_sum,
                                                  &row_sum,
                                                  &add_rows_to,
                                                  &distinct,
                                                  &integer_product,
                                                  &operator_CONV,
                                                  &operator_CONV_AT_POINTS,
                                                  &operator_CONV_INPUT_GRADIENT,
                                                  &operator_CONV_FILTER_GRADIENT,
                                                  &operator_DEPTHWISE,
                                                  &operator_DEPTHWISE_INPUT_GRADIENT,
                                                  &operator_DEPTHWISE_FILTER_GRADIENT,
                                                  &operator_MAX_POOL,
                                                  &operator_MAX_POOL_GRADIENT,
                                                  &operator_lstm,
                                                  &operator_lstm_gradient,
                                                  &operator_softmax,
                                                  &operator_softmax_gradient,
                                                  &operator_attention,
                                                  &operator_attention_gradient,
                                                  &product};

/* The width of panels of products, if they are quicker than ONNX Runtime's on this processor; else 0. */
EXPORTED int quick_products(void) { return tiles_are_wide() ? (int)product_panel_width() : 0; }

/* The name of an operator; NULL behind the last one. */
EXPORTED const char *operator_at(size_t index) {
  return index < sizeof operators / sizeof operators[0] ? operators[index]->get_name(NULL)
                                                        : NULL;
}

/* Which operators the next session of this thread is to know, a bit each. An operator takes a session 20 kB,
   whether it has nodes of it or not. */
static _Thread_local uint64_t wanted = ~(uint64_t)0;

EXPORTED void register_operators(uint64_t which) { wanted = which; }

/* What sessions have been told to know, for as long as the process lives, as sessions do. */
typedef struct Known {
  uint64_t operators;
  OperatorDomain *domain;
  struct Known *next;
} Known;

static Known *_Atomic all_known;

static RuntimeStatus *make_domain(uint64_t which, OperatorDomain **made) {
  const size_t count = sizeof operators / sizeof operators[0];
  RuntimeStatus *status =
      CALL(CreateCustomOpDomain, CREATE_CUSTOM_OP_DOMAIN)(DOMAIN_NAME, made);
  for (size_t i = 0; !status && i < count; i++)
    if (which >> i & 1)
      status = CALL(CustomOpDomainAdd, CUSTOM_OP_DOMAIN_ADD)(*made, operators[i]);
  if (status) return status;
  Known *known = malloc(sizeof *known);
  if (!known) return refuse("there is no memory left");
  *known = (Known){which, *made, atomic_load(&all_known)};
  while (!atomic_compare_exchange_weak(&all_known, &known->next, known)) {
  }
  return NULL;
}

/* What ONNX Runtime calls for each session that is to know the operators. */
EXPORTED RuntimeStatus *RegisterCustomOps(SessionOptions *options, const RuntimeApiBase *base) {
  const RuntimeApi *found = base->get_api(RUNTIME_API_VERSION);
  if (!found || (atomic_load(&all_known) && found != api)) {
    const RuntimeApi *first = base->get_api(1);
    if (!first) return NULL; /* nothing can be said; a session without the operators does */
    return ((CreateStatus)first[CREATE_STATUS])(
        FAIL, found ? "another ONNX Runtime of this process has the fused kernels"
                    : "this ONNX Runtime has no interface of version " VERSION_TEXT
                      ", which the fused kernels need; ONNX Runtime 1." VERSION_TEXT
                      " and later have");
  }
  api = found;
  lends_shapes = base->get_api(SHAPE_REFERENCE_VERSION) != NULL;
  OperatorDomain *domain = NULL;
  for (const Known *known = atomic_load(&all_known); known && !domain; known = known->next)
    if (known->operators == wanted) domain = known->domain;
  RuntimeStatus *status = domain ? NULL : make_domain(wanted, &domain);
  if (status) return status;
  return CALL(AddCustomOpDomain, ADD_CUSTOM_OP_DOMAIN)(options, domain);
}
